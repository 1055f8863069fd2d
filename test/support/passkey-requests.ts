import { type Ask, createTestApp, type TestApp } from './app.ts'
import { createPasskey, type Passkey } from './passkey.ts'

export const PASSKEY_PATH = '/api/auth/passkey/v1'
export const ORIGIN = 'https://api.example.com'
export const EMAIL = 'ann@example.com'

/** An app at `ORIGIN`, the host of its passkeys. */
export const createApp = (
  environment: Record<string, string> = {},
  options: Parameters<typeof createTestApp>[1] = {},
) => createTestApp({ BASE_URL: ORIGIN, ...environment }, options)

/** Asks for the options of a new passkey. */
export async function creationOptions(app: TestApp, token: string, json: object = {}) {
  return app.ask('POST', `${PASSKEY_PATH}/options`, { token, json })
}

/** Creates a passkey on a device and adds it to the account. */
export async function addPasskey(app: TestApp, token: string, passkey = createPasskey(ORIGIN)) {
  const { json } = await creationOptions(app, token)
  const credential = passkey.register(json.response)
  const reply = await app.ask('POST', PASSKEY_PATH, { token, json: { credential, name: 'Phone' } })
  return { passkey, reply, credential }
}

export type Overrides = Parameters<Passkey['authenticate']>[1]

/** Signs in with a passkey, for which `overrides` are the values that a misbehaving device or page changes. */
export async function signInWithPasskey(
  app: TestApp,
  passkey: Passkey,
  overrides?: Overrides,
  extra: Ask = {},
) {
  const { json } = await app.ask('POST', `${PASSKEY_PATH}/sign_in/options`)
  const credential = passkey.authenticate(json.response, overrides)
  return app.ask('POST', `${PASSKEY_PATH}/sign_in`, { json: { credential }, ...extra })
}
