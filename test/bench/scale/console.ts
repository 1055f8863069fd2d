import { Secret, TOTP } from 'otpauth'
import { cookieIn } from '../../support/operator.ts'
import { runHomeport } from '../servers.ts'
import { emailOf, userIdOf } from './large-users.ts'
import { type Case, measureAll } from './latencies.ts'
import { printLatencies } from './report.ts'
import { randomUser, type Side, type Sides, startSide } from './sides.ts'

const PASSWORD = 'a long enough secret'

type SetUpReply = { response: { totp: { secret: string; sealed: string } } }

/** Console requests that could scan too many rows. The server must be running. */
export async function consoleCases(side: Side): Promise<Case[]> {
  const { port, size } = side
  const cookie = await signInToConsole(side)
  const user = () => userIdOf(randomUser(size))
  const email = () => emailOf(randomUser(size))
  const requests: [name: string, path: () => string][] = [
    ['users, newest', () => 'people'],
    ['users by e-mail prefix', () => `people?q=${email().slice(0, 9)}`],
    ['user by e-mail address', () => `people?q=${email()}`],
    ['user by id', () => `people?q=${user()}`],
    ['user by transaction', () => `people?q=GPA.${Math.floor(Math.random() * size.purchases)}`],
    ['no match', () => `people?q=nobody${Math.random()}`],
    ['users by status', () => 'people?status=expired'],
    ['users without a subscription', () => 'people?status=none'],
    ['users by platform', () => 'people?platform=ios'],
    ['users by last use', () => 'people?seenWithin=30'],
    ['users, four filters', () => 'people?status=expired&platform=ios&country=DE&guest=false'],
    ['users, contradicting filters', () => 'people?country=JP&platform=ios&notSeenFor=1'],
    ['one user', () => `people/${user()}`],
    ['one timeline', () => `people/${user()}/timeline`],
    ['events, newest', () => 'events'],
    ['events, failed', () => 'events?outcome=failed'],
    ['events, conflicting', () => 'events?conflicting=true'],
    ['events, implausible timestamps', () => 'events?clockIsOff=true'],
    ['events, sandbox', () => 'events?environment=sandbox'],
    ['events of a frequent type', () => 'events?type=RENEWAL'],
    ['events of a rare type', () => 'events?type=TRANSFER'],
    ['events of an unknown type', () => 'events?type=NEVER_SEEN'],
    ['events of a user', () => `events?user=${user()}`],
    ['failed events of a user', () => `events?outcome=failed&user=${user()}`],
    ['sandbox refunds', () => 'events?type=REFUND&environment=sandbox'],
    ['ignored renewals', () => 'events?type=RENEWAL&outcome=ignored'],
    ['business figures', () => 'business'],
    ['overview', () => 'overview'],
  ]
  return requests.map(([name, path]) => ({
    name,
    request: () =>
      `GET /console/api/${path()} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nCookie: ${cookie}\r\n\r\n`,
  }))
}

/** Prints the latency of operators' requests, one at a time. */
export async function benchConsole(sides: Sides, logProgress: (text: string) => void) {
  const { large, empty } = sides
  await using _largeServer = await startSide(large)
  await using _emptyServer = await startSide(empty)
  const cases = { large: await consoleCases(large), empty: await consoleCases(empty) }
  printLatencies('The console', await measureAll(sides, cases, logProgress))
}

/** Signs in as a new operator and returns the cookie. The server must be running. */
export async function signInToConsole({ dataDir, port }: Side): Promise<string> {
  const name = `bench-${Date.now()}`
  const { stdout } = await runHomeport(dataDir, ['operators', 'add', name, '--json'])
  const { link } = JSON.parse(stdout) as { link: string }
  return await setUp(`http://127.0.0.1:${port}`, link)
}

async function setUp(url: string, link: string): Promise<string> {
  const token = new URLSearchParams(new URL(link).hash.slice(1)).get('setup')
  const headers = {
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/json',
    origin: url,
  }
  const post = (path: string, json: unknown) =>
    fetch(`${url}/console/api/login/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(json),
    })
  const reply = (await (await post('link', { token })).json()) as SetUpReply
  const { secret, sealed } = reply.response.totp
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
  const response = await post('set-up', { token, password: PASSWORD, code, sealed })
  return cookieIn(response.headers.get('set-cookie'))
}
