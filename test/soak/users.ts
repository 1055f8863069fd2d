import { PASSWORD } from '../support/app.ts'
import type { Client, Reply, Request } from './client.ts'

/** A user with one device. Only one action uses it at a time, so its state is known exactly. */
export type User = {
  id: string
  email: string
  token: string
  refreshToken: string
  name: string
  /** The subscription state that the billing provider has sent. */
  purchase: { events: number; expiresAt: number | null; willRenew: boolean }
  /** The number of uses of the limit. */
  used: number
  /** The uploaded files by key, with the SHA-256 of the bytes, or null if the server converts them. */
  files: Map<string, string | null>
}

export type Users = ReturnType<typeof createUsers>

const PROFILE = '/api/user/profile/v1'

/**
 * Users who register, sign in, change their names and delete their accounts. `emails` holds the addresses of existing
 * users; `expectedWebhooks` holds the webhooks that the app's server must receive: the type and the user's id.
 */
export function createUsers(client: Client) {
  const { problems, askWithRetries } = client
  const emails = new Set<string>()
  const expectedWebhooks = new Set<string>()
  let registered = 0
  return {
    emails,
    expectedWebhooks,
    register,
    signIn,
    refresh,
    readProfile,
    rename,
    deleteAccount,
    askAs,
    succeeded,
  }

  async function register(): Promise<User | null> {
    const email = `user-${++registered}-${crypto.randomUUID().slice(0, 8)}@example.com`
    const json = { email, password: PASSWORD }
    const reply = await askWithRetries({ method: 'POST', path: '/api/auth/register/v1', json })
    const isKnown = reply.isRepeated && reply.status === 409
    const sessionReply = isKnown ? await login(email) : reply
    if (!succeeded(sessionReply, 'a registration')) return null
    emails.add(email)
    const { user, accessToken, refreshToken } = sessionReply.json.response
    expectedWebhooks.add(`user.created ${user._id}`)
    return {
      id: user._id,
      email,
      token: accessToken,
      refreshToken,
      name: '',
      purchase: { events: 0, expiresAt: null, willRenew: false },
      used: 0,
      files: new Map(),
    }
  }

  async function signIn(user: User) {
    const reply = await login(user.email)
    if (succeeded(reply, 'a sign-in')) storeTokens(user, reply)
  }

  /** After a lost response, retries with the same token, as an app does. */
  async function refresh(user: User) {
    const json = { refreshToken: user.refreshToken }
    const reply = await askWithRetries({ method: 'POST', path: '/api/auth/refresh/v1', json })
    if (succeeded(reply, 'a refresh')) storeTokens(user, reply)
  }

  async function readProfile(user: User) {
    const reply = await askAs(user, { method: 'GET', path: PROFILE })
    if (!succeeded(reply, 'a profile')) return
    const { name } = reply.json.response.profile
    if (name !== user.name)
      problems.push(`${user.email} has the name ${name}, expected ${user.name}`)
  }

  async function rename(user: User) {
    const name = `name ${crypto.randomUUID()}`
    const json = { profile: { name } }
    const reply = await askAs(user, { method: 'PATCH', path: PROFILE, json })
    if (!succeeded(reply, 'a change of name')) return
    user.name = name
    expectedWebhooks.add(`user.updated ${user.id}`)
  }

  /** The token is invalid if an earlier attempt took effect. */
  async function deleteAccount(user: User) {
    const reply = await askWithRetries({ method: 'DELETE', path: PROFILE, token: user.token })
    const isGone = reply.isRepeated && reply.status === 401
    if (isGone || succeeded(reply, 'a deletion')) {
      emails.delete(user.email)
      expectedWebhooks.add(`user.deleted ${user.id}`)
    }
    const again = await login(user.email)
    if (again.status !== 401) problems.push(`${user.email} was deleted but can sign in`)
  }

  /** Sends a request with the access token. If it has expired, refreshes it and sends again. */
  async function askAs(user: User, request: Omit<Request, 'token'>) {
    const reply = await askWithRetries({ ...request, token: user.token })
    if (reply.json?.code !== 'token_expired') return reply
    await refresh(user)
    const again = await askWithRetries({ ...request, token: user.token })
    return { ...again, isRepeated: reply.isRepeated || again.isRepeated }
  }

  function login(email: string) {
    const json = { email, password: PASSWORD }
    return askWithRetries({ method: 'POST', path: '/api/auth/login/v1', json })
  }

  function storeTokens(user: User, { json }: Reply) {
    user.token = json.response.accessToken
    user.refreshToken = json.response.refreshToken
  }

  function succeeded({ status, json }: Reply, operation: string): boolean {
    if (status === 200) return true
    problems.push(`${operation} got ${status} ${JSON.stringify(json)}`)
    return false
  }
}
