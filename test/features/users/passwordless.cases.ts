import { PASSWORD } from '../../support/app.ts'
import { createPasskey } from '../../support/passkey.ts'
import { LONG, type RouteCase } from '../../support/route-case.ts'

type Setup = Parameters<NonNullable<RouteCase['prepare']>>[0]

const EMAIL_CODE = '/api/auth/email_code/v1'
const PASSKEY = '/api/auth/passkey/v1'

export const routes: RouteCase[] = [
  {
    method: 'POST',
    path: EMAIL_CODE,
    access: 'public',
    good: { json: { email: 'grid@example.com' } },
    bad: { json: { email: 'two@words@example.com' }, status: 422 },
    oversize: { json: { email: LONG } },
  },
  {
    method: 'POST',
    path: `${EMAIL_CODE}/verify`,
    access: 'public',
    good: { json: { requestToken: 'unknown', code: '000000' } },
    prepare: requestCode,
    bad: { json: { requestToken: 'unknown', code: '000000' }, status: 401 },
    oversize: { json: { requestToken: LONG, code: '000000' } },
  },
  { method: 'POST', path: `${PASSKEY}/sign_in/options`, access: 'public', good: {} },
  {
    method: 'POST',
    path: `${PASSKEY}/sign_in`,
    access: 'public',
    good: {},
    prepare: async (setup) => {
      const passkey = await addPasskey(setup)
      const options = await setup.app.ask('POST', `${PASSKEY}/sign_in/options`)
      return { json: { credential: passkey.authenticate(options.json.response) } }
    },
    bad: { json: { credential: {} }, status: 422 },
    oversize: { json: { credential: { id: LONG } } },
  },
  { method: 'GET', path: PASSKEY, access: 'user', good: {} },
  {
    method: 'POST',
    path: `${PASSKEY}/options`,
    access: 'user',
    good: { json: { password: PASSWORD } },
    bad: { json: { password: 'wrong password' }, status: 401 },
    oversize: { json: { password: LONG } },
  },
  {
    method: 'POST',
    path: PASSKEY,
    access: 'user',
    good: {},
    prepare: async (setup) => ({ json: { credential: await newCredential(setup) } }),
    bad: { json: { credential: {} }, status: 422 },
    oversize: { json: { credential: { id: LONG } } },
  },
  {
    method: 'PATCH',
    path: PASSKEY,
    access: 'user',
    good: { json: { id: 'unknown', name: 'Phone' } },
    prepare: async (setup) => ({ json: { id: (await addPasskey(setup)).id, name: 'Phone' } }),
    bad: { json: { id: 'unknown', name: 'Phone' }, status: 404 },
    oversize: { json: { id: 'unknown', name: LONG } },
  },
  {
    method: 'DELETE',
    path: PASSKEY,
    access: 'user',
    good: {},
    prepare: async (setup) => ({ path: `${PASSKEY}?id=${(await addPasskey(setup)).id}` }),
    bad: { path: `${PASSKEY}?id=unknown`, status: 404 },
  },
]

/** Requests a code by e-mail. Returns a request that signs in with it. */
async function requestCode({ app, user }: Setup) {
  const json = { email: user.user.email }
  const { requestToken } = (await app.ask('POST', EMAIL_CODE, { json })).json.response
  return { json: { requestToken, code: app.services.users.emailCodes.deriveCode(requestToken) } }
}

/** Creates a passkey on a device, for the user. */
async function newCredential(setup: Setup, passkey = createPasskey('http://localhost:3000')) {
  const { app, user } = setup
  const request = { token: user.accessToken, json: { password: PASSWORD } }
  return passkey.register((await app.ask('POST', `${PASSKEY}/options`, request)).json.response)
}

async function addPasskey(setup: Setup) {
  const passkey = createPasskey('http://localhost:3000')
  const json = { credential: await newCredential(setup, passkey) }
  await setup.app.ask('POST', PASSKEY, { token: setup.user.accessToken, json })
  return passkey
}
