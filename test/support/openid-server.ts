import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { sha256 } from '../../src/lib/crypto/hash.ts'

const CALLBACK = 'com.example.app:/callback'
const VERIFIER = 'a-code-verifier-that-only-this-app-knows-1234567890'

export const MOBILE_CLIENT = 'mobile'
export const OTHER_CLIENT = 'other'

/**
 * The npm package oidc-provider on loopback, with users whose address is `<login>@acme.test`, verified unless the
 * login starts with `new`.
 */
export async function startOpenIdServer() {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clients = [MOBILE_CLIENT, OTHER_CLIENT].map((id) => ({
    client_id: id,
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    redirect_uris: [CALLBACK],
  }))
  const provider = new Provider(issuer, {
    clients,
    claims: { email: ['email', 'email_verified'], profile: ['name'] },
    // Otherwise the id token leaves the address to the userinfo endpoint.
    conformIdTokenClaims: false,
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: `${id}@acme.test`,
        email_verified: !id.startsWith('new'),
        name: id,
      }),
    }),
  })
  server.on('request', provider.callback())
  return {
    issuer,
    signIn,
    [Symbol.dispose]: () => {
      server.closeAllConnections()
      server.close()
    },
  }

  /** Signs a user in as an app would with a browser tab and PKCE. Returns the id token. */
  async function signIn(login: string, nonce: string, clientId = MOBILE_CLIENT): Promise<string> {
    const browse = createBrowser(issuer)
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: CALLBACK,
      response_type: 'code',
      scope: 'openid email profile',
      nonce,
      code_challenge: sha256(VERIFIER, 'base64url'),
      code_challenge_method: 'S256',
    })
    let url = `${issuer}/auth?${query}`
    while (!url.startsWith(CALLBACK)) {
      const reply = await browse(url)
      const location = reply.headers.get('location')
      url = location ?? (await submitForm(browse, await reply.text(), login))
    }
    const reply = await fetch(`${issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: new URL(url).searchParams.get('code') ?? '',
        client_id: clientId,
        redirect_uri: CALLBACK,
        code_verifier: VERIFIER,
      }),
    })
    return ((await reply.json()) as { id_token: string }).id_token
  }
}

type Browse = (url: string, form?: Record<string, string>) => Promise<Response>

/** Submits the form of the login or consent page. Returns the URL that follows. */
async function submitForm(browse: Browse, html: string, login: string): Promise<string> {
  const [, prompt = ''] = /name="prompt" value="(\w+)"/.exec(html) ?? []
  const [, action = ''] = /action="([^"]+)"/.exec(html) ?? []
  const reply = await browse(action, { prompt, login, password: 'any' })
  return reply.headers.get('location') ?? ''
}

/** Requests with cookies and without following redirects. */
function createBrowser(base: string): Browse {
  const cookies = new Map<string, string>()
  return async (url, form) => {
    const reply = await fetch(new URL(url, base), {
      redirect: 'manual',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
    })
    for (const cookie of reply.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    return reply
  }
}
