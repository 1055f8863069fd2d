import { PASSWORD } from '../support/app.ts'
import type { Asking, Reply, Request } from './asking.ts'

/** Somebody with one device. Whoever acts for them holds them, so what is known of them is exact. */
export type Person = {
  id: string
  email: string
  token: string
  refreshToken: string
  name: string
  /** What the billing provider has told of their subscription. */
  line: { events: number; expiresAt: number | null; willRenew: boolean }
  /** By key: the SHA-256 of the bytes, or null where the server makes its own of them. */
  files: Map<string, string | null>
}

export type People = ReturnType<typeof createPeople>

const PROFILE = '/api/user/profile/v1'

/** People who sign in, rename themselves, come and go. `emails` are those of all who are there. */
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

  /** A reply that was lost is asked for again by the same token, as an app does. */
  async function refresh(person: Person) {
    const json = { refreshToken: person.refreshToken }
    const reply = await persist({ method: 'POST', path: '/api/auth/refresh/v1', json })
    if (succeeded(reply, 'a refresh')) keep(person, reply)
  }

  async function readProfile(person: Person) {
    const reply = await askAs(person, { method: 'GET', path: PROFILE })
    if (!succeeded(reply, 'a profile')) return
    const { name } = reply.json.response.profile
    if (name !== person.name) wrong.push(`${person.email} is called ${name}, not ${person.name}`)
  }

  async function rename(person: Person) {
    const name = `name ${crypto.randomUUID()}`
    const json = { profile: { name } }
    const reply = await askAs(person, { method: 'PATCH', path: PROFILE, json })
    if (succeeded(reply, 'a renaming')) person.name = name
  }

  /** Once an earlier try had its effect the token is void. */
  async function leave(person: Person) {
    const reply = await persist({ method: 'DELETE', path: PROFILE, token: person.token })
    const isGone = reply.isRepeated && reply.status === 401
    if (isGone || succeeded(reply, 'a deletion')) emails.delete(person.email)
    const again = await login(person.email)
    if (again.status !== 401) wrong.push(`${person.email} is gone and may sign in`)
  }

  /** Asks with the access token; one that has run out is replaced first. */
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
    wrong.push(`${what} was answered ${status} ${JSON.stringify(json)}`)
    return false
  }
}
