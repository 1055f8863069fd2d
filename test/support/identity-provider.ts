import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type {
  IdentityProviders,
  ProviderName,
} from '../../src/features/users/social/identity-providers.ts'

const ISSUERS = { google: 'https://accounts.google.com', apple: 'https://appleid.apple.com' }
export const CLIENT_ID = 'com.example.app'

/**
 * Google, Apple and an OpenID Connect provider on loopback, with keys that can rotate, and Apple's token endpoints.
 * `discovery.reply` replaces the discovery document.
 */
export async function startIdentityProvider() {
  const key = { current: await keyOf(1) }
  const published = [key.current]
  const requestedPaths: string[] = []
  const revoked: string[] = []
  const discovery: { document: object; reply: (() => Response | Promise<Response>) | null } = {
    document: {},
    reply: null,
  }
  /** The redirect URI of Apple's codes; empty for codes from an app. */
  const redirect = { uri: '' }
  const endless = { isOn: false, status: 200, sent: 0 }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname } = new URL(request.url)
      requestedPaths.push(pathname)
      if (endless.isOn) return new Response(endlessBody(endless), { status: endless.status })
      if (pathname === '/keys') return Response.json({ keys: published.map(({ jwk }) => jwk) })
      if (pathname === '/.well-known/openid-configuration')
        return discovery.reply?.() ?? Response.json(discovery.document)
      const form = new URLSearchParams(await request.text())
      if (form.get('client_secret')?.split('.').length !== 3)
        return new Response('', { status: 400 })
      if (pathname === '/auth/token' && (form.get('redirect_uri') ?? '') !== redirect.uri)
        return Response.json({ error: 'invalid_grant' }, { status: 400 })
      if (pathname === '/auth/token')
        return Response.json({ refresh_token: `r-${form.get('code')}` })
      if (pathname === '/auth/revoke') revoked.push(form.get('token') ?? '')
      return new Response('')
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  const issuers: Record<ProviderName, string> = { ...ISSUERS, oidc: url }
  discovery.document = {
    issuer: url,
    jwks_uri: `${url}/keys`,
    id_token_signing_alg_values_supported: ['RS256', 'none', 'HS256'],
  }
  const settings = (provider: 'google' | 'apple') => ({
    issuers: [ISSUERS[provider]],
    jwksUrl: `${url}/keys`,
    clientIds: [CLIENT_ID],
  })
  const providers: IdentityProviders = { google: settings('google'), apple: settings('apple') }
  return {
    url,
    providers,
    /** The variables that set up the OpenID Connect provider. */
    openId: { OIDC_ISSUER: url, OIDC_CLIENT_IDS: CLIENT_ID, OIDC_EMAIL_DOMAINS: 'acme.test' },
    discovery,
    requestedPaths,
    revoked,
    redirect,
    endless,
    rotate,
    mint,
    [Symbol.dispose]: () => void server.stop(true),
  }

  async function rotate() {
    key.current = await keyOf(published.length + 1)
    published.push(key.current)
  }

  /** An id token of `provider`; `claims` and `header` override its default content. */
  function mint(
    provider: ProviderName,
    claims: Record<string, unknown>,
    { header = {}, at = new Date() }: { header?: Record<string, unknown>; at?: Date } = {},
  ): Promise<string> {
    const issuedAt = Math.floor(at.getTime() / 1000)
    const payload = { iss: issuers[provider], aud: CLIENT_ID, iat: issuedAt, exp: issuedAt + 3600 }
    return new SignJWT({ ...payload, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: key.current.jwk.kid ?? '', ...header })
      .sign(key.current.privateKey)
  }
}

/** A body of 256 MiB, which simulates an endless one. */
function endlessBody(count: { sent: number }) {
  const chunk = Buffer.alloc(2 ** 20, 32)
  return new ReadableStream({
    async pull(controller) {
      if (count.sent >= 256 * 2 ** 20) return controller.close()
      count.sent += chunk.length
      controller.enqueue(chunk)
      await Bun.sleep(0)
    },
  })
}

/** Generating RSA keys is slow, so all providers of a process share them. */
const keys: ReturnType<typeof newKey>[] = []

function keyOf(number: number) {
  keys[number] ??= newKey(number)
  return keys[number]
}

async function newKey(number: number) {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: `key-${number}`, alg: 'RS256', use: 'sig' }
  return { privateKey, jwk }
}
