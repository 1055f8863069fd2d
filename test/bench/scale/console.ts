import { Secret, TOTP } from 'otpauth'
import { cookieIn } from '../../support/operator.ts'
import type { Size } from './large-data.ts'
import { emailOf, personId } from './large-people.ts'

const PASSWORD = 'a long enough secret'
const TRIES = 300

type Offered = { response: { totp: { secret: string; sealed: string } } }

type Asked = { name: string; path: (at: number) => string }

/** What operators ask for that could read too much. */
function questions({ people, lines }: Size): Asked[] {
  const any = (at: number, count: number) => (at * 7919) % count
  return [
    { name: 'people, newest', path: () => 'people' },
    {
      name: 'people by e-mail prefix',
      path: (at) => `people?q=${emailOf(any(at, people)).slice(0, 9)}`,
    },
    { name: 'people by address', path: (at) => `people?q=${emailOf(any(at, people))}` },
    { name: 'people by id', path: (at) => `people?q=${personId(any(at, people))}` },
    { name: 'people by transaction', path: (at) => `people?q=GPA.${any(at, lines)}` },
    { name: 'nobody', path: (at) => `people?q=nobody${at}` },
    { name: 'a person', path: (at) => `people/${personId(any(at, people))}` },
    { name: 'a timeline', path: (at) => `people/${personId(any(at, people))}/timeline` },
    { name: 'events, newest', path: () => 'events' },
    { name: 'events, failed', path: () => 'events?outcome=failed' },
    { name: 'events, conflicting', path: () => 'events?conflicting=true' },
    { name: 'events, clock off', path: () => 'events?clockIsOff=true' },
    { name: 'events, sandbox', path: () => 'events?environment=sandbox' },
    { name: 'events of a frequent type', path: () => 'events?type=RENEWAL' },
    { name: 'events of a rare type', path: () => 'events?type=TRANSFER' },
    { name: 'events of no type', path: () => 'events?type=NEVER_SEEN' },
    { name: 'events of a user', path: (at) => `events?user=${personId(any(at, people))}` },
    { name: 'failed events of a user', path: (at) => `events?outcome=failed&user=${personId(at)}` },
    { name: 'refunds in the sandbox', path: () => 'events?type=REFUND&environment=sandbox' },
    { name: 'ignored renewals', path: () => 'events?type=RENEWAL&outcome=ignored' },
    { name: 'the overview', path: () => 'overview' },
  ]
}

/** p50 and p99 in ms of each, one after the other. */
export async function benchConsole(url: string, link: string, size: Size) {
  const cookie = await signIn(url, link)
  const found: { name: string; p50: number; p99: number; slowest: number }[] = []
  for (const { name, path } of questions(size)) {
    const times: number[] = []
    for (let at = 0; at < TRIES; at++) {
      const start = performance.now()
      const response = await fetch(`${url}/console/api/${path(at)}`, { headers: { cookie } })
      await response.bytes()
      times.push(performance.now() - start)
      if (response.status !== 200) throw new Error(`${name}: ${response.status}`)
    }
    times.sort((a, b) => a - b)
    const at = (share: number) =>
      Math.round((times[Math.floor(share * (TRIES - 1))] ?? 0) * 100) / 100
    found.push({ name, p50: at(0.5), p99: at(0.99), slowest: at(1) })
  }
  return found
}

async function signIn(url: string, link: string): Promise<string> {
  const token = new URLSearchParams(new URL(link).hash.slice(1)).get('setup')
  const headers = {
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/json',
    origin: url,
  }
  const post = (path: string, json: unknown) =>
    fetch(`${url}/console/api/door/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(json),
    })
  const offered = (await (await post('link', { token })).json()) as Offered
  const { secret, sealed } = offered.response.totp
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
  const done = await post('set-up', { token, password: PASSWORD, code, sealed })
  return cookieIn(done.headers.get('set-cookie'))
}
