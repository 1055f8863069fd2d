import { importPKCS8, SignJWT } from 'jose'
import { fetchBounded, readTextCapped } from '../../../lib/net/bounded-fetch.ts'

type AppleKeys = { teamId: string; keyId: string; privateKey: string; url: string }

export type AppleGrants = ReturnType<typeof createAppleGrants>

export const APPLE_URL = 'https://appleid.apple.com'
const TIMEOUT_MS = 10_000
const MAX_BODY_BYTES = 64 * 1024
const SECRET_LIFETIME_SECONDS = 5 * 60

/**
 * Exchanges authorization codes for refresh tokens, which revoke the grant when the account is deleted, as the App
 * Store requires.
 * https://developer.apple.com/documentation/signinwithapplerestapi
 */
export function createAppleGrants({ teamId, keyId, privateKey, url }: AppleKeys, now: () => Date) {
  return { exchange, revoke }

  /** The refresh token of the grant. Codes of a Services ID need the redirect URI. Throws if Apple does not return one. */
  async function exchange(code: string, clientId: string, redirectUri = ''): Promise<string> {
    const form = { code, grant_type: 'authorization_code' }
    const redirect = redirectUri === '' ? {} : { redirect_uri: redirectUri }
    const reply = await post('/auth/token', clientId, { ...form, ...redirect })
    const parsed = JSON.parse((await readTextCapped(reply, MAX_BODY_BYTES)) ?? '{}')
    const { refresh_token: token } = parsed as { refresh_token?: unknown }
    if (typeof token !== 'string') throw new Error('Apple returned no refresh token')
    return token
  }

  async function revoke(token: string, clientId: string, signal?: AbortSignal) {
    const form = { token, token_type_hint: 'refresh_token' }
    const reply = await post('/auth/revoke', clientId, form, signal)
    await reply.body?.cancel()
  }

  async function post(
    path: string,
    clientId: string,
    form: Record<string, string>,
    signal?: AbortSignal,
  ) {
    const reply = await fetchBounded(url + path, {
      method: 'POST',
      timeoutMs: TIMEOUT_MS,
      signal,
      body: new URLSearchParams({
        client_id: clientId,
        client_secret: await createClientSecret(clientId),
        ...form,
      }),
    })
    if (reply.ok) return reply
    await reply.body?.cancel()
    throw new Error(`Apple responded to ${path} with ${reply.status}`)
  }

  async function createClientSecret(clientId: string): Promise<string> {
    const at = Math.floor(now().getTime() / 1000)
    return new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid: keyId })
      .setIssuer(teamId)
      .setSubject(clientId)
      .setAudience(APPLE_URL)
      .setIssuedAt(at)
      .setExpirationTime(at + SECRET_LIFETIME_SECONDS)
      .sign(await importPKCS8(privateKey, 'ES256'))
  }
}
