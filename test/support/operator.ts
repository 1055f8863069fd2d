import { Secret, TOTP } from 'otpauth'
import type { Ask, TestApp } from './app.ts'
import { createPasskey } from './passkey.ts'

const PASSWORD = 'a long enough secret'
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost' }

export type OperatorBrowser = Awaited<ReturnType<typeof signInOperator>>

/** Sets up an operator with a password and TOTP, as a browser does. Returns a signed-in client. */
export async function signInOperator(
  app: TestApp,
  { name = 'ann', role = 'owner' }: { name?: string; role?: 'reader' | 'operator' | 'owner' } = {},
) {
  const { token } = await app.services.operators.accounts.add(name, role)
  const post = (path: string, json: unknown, headers: Record<string, string> = {}) =>
    app.ask('POST', `/console/api/${path}`, { json, headers: { ...SAME_ORIGIN, ...headers } })
  const offered = (await post('login/link', { token })).json.response.totp
  const totp = new TOTP({ secret: Secret.fromBase32(offered.secret) })
  const codeNow = () => totp.generate({ timestamp: app.clock.now.getTime() })
  const choice = { token, password: PASSWORD, code: codeNow(), sealed: offered.sealed }
  const reply = await post('login/set-up', choice)
  const cookie = cookieIn(reply.headers.get('set-cookie'))
  return {
    name,
    token,
    cookie,
    password: PASSWORD,
    recoveryCodes: reply.json.response.recoveryCodes as string[],
    codeNow,
    setCookie: reply.headers.get('set-cookie') ?? '',
    ask,
    read,
  }

  function ask(method: string, path: string, options: Ask = {}) {
    return app.ask(method, `/console/api/${path}`, {
      ...options,
      headers: { ...(method === 'GET' ? {} : SAME_ORIGIN), cookie, ...options.headers },
    })
  }

  /** Reads a route and returns its response; throws unless the status is 200. */
  async function read(path: string) {
    const { status, json, text } = await ask('GET', path)
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
    return json.response
  }
}

/** Sets up an operator of a running server with a passkey and returns the session's cookie. */
export async function setUpOperator(url: string, token: string): Promise<string> {
  const offered = await sendToConsole(url, 'login/link', { token })
  if (offered.status !== 200) throw new Error(await offered.text())
  const { response } = (await offered.json()) as { response: { passkey: { challenge: string } } }
  const passkey = createPasskey(url).register(response.passkey)
  const choice = { token, passkey, passkeyName: 'Laptop' }
  const reply = await sendToConsole(url, 'login/set-up', choice)
  return cookieIn(reply.headers.get('set-cookie'))
}

/** Sends a request as the console's page does; a POST if there is a body. */
export function sendToConsole(
  url: string,
  path: string,
  json?: unknown,
  headers: Record<string, string> = {},
) {
  return fetch(`${url}/console/api/${path}`, {
    ...(json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) }),
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      origin: url,
      ...headers,
    },
  })
}

/** The `name=value` pair that a browser sends back. */
export function cookieIn(setCookie: string | null): string {
  return setCookie?.split(';')[0] ?? ''
}
