import type { JWK } from 'jose'
import { signJwt } from '../../../lib/crypto/es256.ts'
import { fetchBounded, readTextCapped } from '../../../lib/net/bounded-fetch.ts'
import { parseJson, toObject } from '../../../lib/text/json.ts'
import { MINUTE_MS } from '../../../lib/time/durations.ts'
import type { StoredEnvironment } from '../../billing/environment.ts'
import { AppleApiError } from './api-error.ts'
import type { Claims } from './token.ts'

/** The key for the App Store Server API: App Store Connect → Users and Access → Integrations → In-App Purchase. */
type AppleApiKey = { issuerId: string; keyId: string; privateKey: JWK }

type AppleApiDeps = { key: AppleApiKey; urls: Record<StoredEnvironment, string>; now: () => Date }
export type AppleCall = {
  environment: StoredEnvironment
  bundleId: string
  method?: 'GET' | 'POST' | 'PUT'
  body?: object
}

export type AppleApi = ReturnType<typeof createAppleApi>

export const APPLE_API_URLS: Record<StoredEnvironment, string> = {
  PRODUCTION: 'https://api.storekit.apple.com',
  SANDBOX: 'https://api.storekit-sandbox.apple.com',
}

const TIMEOUT_MS = 10_000
/** A page of 20 notifications has about 400 kB. */
const MAX_REPLY_BYTES = 4 * 1024 * 1024
const TOKEN_LIFETIME_MS = 5 * MINUTE_MS

/** Every function throws `AppleApiError`. https://developer.apple.com/documentation/appstoreserverapi */
export function createAppleApi({ key, urls, now }: AppleApiDeps) {
  /** Whether the key was refused at an app's last call in production: Apple refuses it until the app is released. */
  const refusals = new Map<string, boolean>()
  return { call, isKeyRefused }

  function isKeyRefused(): boolean {
    return refusals.size > 0 && refusals.values().every((isRefused) => isRefused)
  }

  /** The JSON of a response; an empty object if it has none. `path` starts with `/inApps/`. */
  async function call(
    path: string,
    { environment, bundleId, method = 'GET', body }: AppleCall,
    signal?: AbortSignal,
  ): Promise<Claims> {
    let reply: Response
    let text: string | null
    try {
      reply = await fetchBounded(urls[environment] + path, {
        method,
        timeoutMs: TIMEOUT_MS,
        signal,
        headers: {
          authorization: `Bearer ${tokenFor(bundleId)}`,
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      text = await readTextCapped(reply, MAX_REPLY_BYTES)
    } catch {
      throw new AppleApiError('unreachable')
    }
    const content = parse(text)
    const error = reply.ok ? null : AppleApiError.fromReply(reply, content, now())
    if (environment === 'PRODUCTION') refusals.set(bundleId, error?.reason === 'refused_key')
    if (error !== null) throw error
    return content
  }

  function tokenFor(bundleId: string): string {
    const issuedAt = now().getTime()
    const claims = {
      iss: key.issuerId,
      iat: Math.floor(issuedAt / 1000),
      exp: Math.floor((issuedAt + TOKEN_LIFETIME_MS) / 1000),
      aud: 'appstoreconnect-v1',
      bid: bundleId,
    }
    return signJwt({ typ: 'JWT', kid: key.keyId }, claims, key.privateKey)
  }
}

function parse(text: string | null): Claims {
  if (text === null) throw new AppleApiError('unreachable')
  return toObject(parseJson(text))
}
