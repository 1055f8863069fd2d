import type { Ask, TestApp } from './app.ts'

const CODE_PATH = '/api/auth/email_code/v1'

/** Signs in with a code by e-mail, which creates the account if there is none. `extra`: the guest's token. */
export async function signInByCode(app: TestApp, email: string, extra: Ask = {}) {
  const { json } = await app.ask('POST', CODE_PATH, { json: { email } })
  const { requestToken } = json.response
  const answer = { requestToken, code: app.services.users.emailCodes.deriveCode(requestToken) }
  const reply = await app.ask('POST', `${CODE_PATH}/verify`, { json: answer, ...extra })
  return reply.json.response as { accessToken: string; user: { _id: string } }
}
