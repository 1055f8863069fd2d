import { SignJWT } from 'jose'
import type { ServiceAccount } from '../../../../config/subjects/stores.ts'
import {
  type BoundedRequest,
  fetchBounded,
  readTextCapped,
} from '../../../../lib/net/bounded-fetch.ts'
import { type Json, parseJson, toObject } from '../../../../lib/text/json.ts'
import { HOUR_MS } from '../../../../lib/time/durations.ts'
import { PlayApiError } from './api-error.ts'

type PlayApiDeps = { account: ServiceAccount; url: string; tokenUrl: string; now: () => Date }

type AccessToken = { value: string; lifetimeMs: number }

export type PlayApi = ReturnType<typeof createPlayApi>

export const PLAY_API_URL = 'https://androidpublisher.googleapis.com'
export const PLAY_TOKEN_URL = 'https://oauth2.googleapis.com/token'
const SCOPE = 'https://www.googleapis.com/auth/androidpublisher'

const TIMEOUT_MS = 10_000
const MAX_REPLY_BYTES = 1024 * 1024
/** An access token is renewed after this fraction of its lifetime. */
const USABLE_PART = 0.8

/** Uses the tokens of a service account. Throws `PlayApiError`. https://developers.google.com/android-publisher */
export function createPlayApi({ account, url, tokenUrl, now }: PlayApiDeps) {
  let current: { token: Promise<AccessToken>; usableUntil: number } | null = null
  let isRefused = false
  return { call, isKeyRefused: () => isRefused }

  /** The JSON of a response. `path` follows `applications/`. A stale access token is renewed once. */
  async function call(
    path: string,
    { body, signal }: { body?: object; signal?: AbortSignal | undefined } = {},
  ): Promise<Json> {
    const request = async (token: Promise<AccessToken>) =>
      send(`${url}/androidpublisher/v3/applications/${path}`, signal, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${(await token).value}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    const token = accessToken()
    let reply = await request(token)
    if (reply.response.status === 401) {
      // Another call may have renewed it already.
      if (current?.token === token) current = null
      reply = await request(accessToken())
    }
    const { response, content } = reply
    const error = response.ok ? null : PlayApiError.fromReply(response, content)
    isRefused = error?.reason === 'refused_key'
    if (error !== null) throw error
    return content
  }

  /** The access token. Calls at the same time share one request for it. */
  function accessToken(): Promise<AccessToken> {
    if (current && now().getTime() < current.usableUntil) return current.token
    const fetched = { token: fetchToken(), usableUntil: Number.POSITIVE_INFINITY }
    current = fetched
    fetched.token.then(
      ({ lifetimeMs }) => {
        fetched.usableUntil = now().getTime() + lifetimeMs * USABLE_PART
      },
      () => {
        if (current === fetched) current = null
      },
    )
    return fetched.token
  }

  async function fetchToken(): Promise<AccessToken> {
    const issuedAt = Math.floor(now().getTime() / 1000)
    const assertion = await new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: account.keyId })
      .setIssuer(account.email)
      .setAudience(tokenUrl)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + HOUR_MS / 1000)
      .sign(account.privateKey)
    const { response, content } = await send(tokenUrl, undefined, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion,
      }),
    })
    const { access_token: value, expires_in: lifetime, error } = content
    if (response.status >= 500) throw new PlayApiError('busy')
    isRefused = typeof value !== 'string'
    if (typeof value !== 'string') throw new PlayApiError('refused_key', String(error ?? ''))
    return { value, lifetimeMs: Number(lifetime ?? 0) * 1000 }
  }
}

type Request = Omit<BoundedRequest, 'timeoutMs' | 'signal'>

async function send(url: string, signal: AbortSignal | undefined, request: Request) {
  try {
    const response = await fetchBounded(url, {
      ...request,
      timeoutMs: TIMEOUT_MS,
      signal,
      headers: { accept: 'application/json', ...request.headers },
    })
    return { response, content: parse(await readTextCapped(response, MAX_REPLY_BYTES)) }
  } catch (error) {
    throw error instanceof PlayApiError ? error : new PlayApiError('unreachable')
  }
}

/** An empty object for a body that is not JSON. */
function parse(body: string | null): Json {
  if (body === null) throw new PlayApiError('unreadable')
  return toObject(parseJson(body))
}
