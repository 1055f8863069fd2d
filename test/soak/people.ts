import { PASSWORD } from '../support/app.ts'
import type { Asking, Reply, Request } from './asking.ts'

/** A user with one device. Only one action uses it at a time, so its state is known exactly. */
export type Person = {
  id: string
  email: string
  token: string
  refreshToken: string
  name: string
  /** The subscription state that the billing provider has sent. */
  line: { events: number; expiresAt: number | null; willRenew: boolean }
  /** By key: the SHA-256 of the bytes, or null if the server converts them. */
  files: Map<string, string | null>
}

export type People = ReturnType<typeof createPeople>

const PROFILE = '/api/user/profile/v1'

/** Users who register, sign in, change their names and delete their accounts. `emails` are those of existing users. */
export function createPeople(asking: Asking) {
  const { wrong, persist } = asking
  const emails = new Set<string>()
  let registered = 0
  return { emails, register, signIn, refresh, readProfile, rename, leave, askAs, succeeded }

  async function register(): Promise<Person | null> {
    const email = `person-${++registered}-${crypto.randomUUID().slice(0, 8)}@example.com`
    const json = { email, password: PASSWORD }
    const reply = await persist({ method: 'POST', path: '/api/auth/register/v1', json })
    const isKnown = reply.isRepeated && reply.status === 409
    const made = isKnown ? await login(email) : reply
    if (!succeeded(made, 'a registration')) return null
    emails.add(email)
    const { user, accessToken, refreshToken } = made.json.response
    return {
      id: user._id,
      email,
      token: accessToken,
      refreshToken,
      name: '',
      line: { events: 0, expiresAt: null, willRenew: false },
      files: new Map(),
    }
  }

  async function signIn(person: Person) {
    const reply = await login(person.email)
    if (succeeded(reply, 'a sign-in')) keep(person, reply)
  }

  /** After a lost reply, retries with the same token, as an app does. */
  async function refresh(person: Person) {
    const json = { refreshToken: person.refreshToken }
    const reply = await persist({ method: 'POST', path: '/api/auth/refresh/v1', json })
    if (succeeded(reply, 'a refresh')) keep(person, reply)
  }

  async function readProfile(person: Person) {
    const reply = await askAs(person, { method: 'GET', path: PROFILE })
    if (!succeeded(reply, 'a profile')) return
    const { name } = reply.json.response.profile
    if (name !== person.name) wrong.push(`${person.email} has the name ${name}, not ${person.name}`)
  }

  async function rename(person: Person) {
    const name = `name ${crypto.randomUUID()}`
    const json = { profile: { name } }
    const reply = await askAs(person, { method: 'PATCH', path: PROFILE, json })
    if (succeeded(reply, 'a change of name')) person.name = name
  }

  /** The token is void once an earlier attempt took effect. */
  async function leave(person: Person) {
    const reply = await persist({ method: 'DELETE', path: PROFILE, token: person.token })
    const isGone = reply.isRepeated && reply.status === 401
    if (isGone || succeeded(reply, 'a deletion')) emails.delete(person.email)
    const again = await login(person.email)
    if (again.status !== 401) wrong.push(`${person.email} was deleted but can sign in`)
  }

  /** Sends a request with the access token, refreshing an expired one first. */
  async function askAs(person: Person, request: Omit<Request, 'token'>) {
    const reply = await persist({ ...request, token: person.token })
    if (reply.json?.code !== 'token_expired') return reply
    await refresh(person)
    const again = await persist({ ...request, token: person.token })
    return { ...again, isRepeated: reply.isRepeated || again.isRepeated }
  }

  function login(email: string) {
    const json = { email, password: PASSWORD }
    return persist({ method: 'POST', path: '/api/auth/login/v1', json })
  }

  function keep(person: Person, { json }: Reply) {
    person.token = json.response.accessToken
    person.refreshToken = json.response.refreshToken
  }

  function succeeded({ status, json }: Reply, what: string): boolean {
    if (status === 200) return true
    wrong.push(`${what} got ${status} ${JSON.stringify(json)}`)
    return false
  }
}
