import { setUpOperator } from '../support/operator.ts'
import type { Client } from './client.ts'
import type { User } from './users.ts'
import type { World } from './world.ts'

const SCREENS = [
  'overview',
  'business',
  'metrics',
  'metrics/endpoints',
  'metrics/slowest',
  'people',
  'people?status=paying&platform=ios',
  'people?q=USER',
  'people/USER',
  'people/USER/timeline',
  'people/USER/files',
  'events',
  'events?outcome=ignored',
  'events?user=USER',
  'purchases',
  'usage/USER',
  'deliveries',
  'audit',
  'files',
]

export type ConsoleOperator = Awaited<ReturnType<typeof startConsoleOperator>>

/** An operator who reads the console, and signs in again once the session has ended. */
export async function startConsoleOperator(world: World, client: Client) {
  // Passkeys need a name instead of an address.
  const url = `http://localhost:${new URL(world.url).port}`
  let screens = 0
  let signedIn = 0
  let cookie = await signIn()
  let signingIn: Promise<void> | null = null
  return { readScreen }

  async function readScreen(user: User) {
    const screen = (SCREENS[screens++ % SCREENS.length] as string).replace('USER', user.id)
    const path = `${url}/console/api/${screen}`
    const reply = await client.askWithRetries({ method: 'GET', path, headers: { cookie } })
    if (reply.status === 401) {
      signingIn ??= signInAgain()
      await signingIn
    } else if (reply.status !== 200)
      client.problems.push(`the console’s ${screen} got ${reply.status}`)
  }

  /** Fails while the server cannot be reached; the next request tries again. */
  async function signInAgain() {
    cookie = await signIn().catch(() => cookie)
    signingIn = null
  }

  async function signIn(): Promise<string> {
    const { stdout, stderr } = await world.run(['operators', 'add', `support-${++signedIn}`])
    const token = /#setup=(\S+)/.exec(stdout)?.[1]
    if (!token) throw new Error(stderr)
    return setUpOperator(url, token)
  }
}
