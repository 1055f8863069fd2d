import { publishLimit } from '../support/publish-limit.ts'
import { startReceiver } from '../support/receiver.ts'
import type { Client } from './client.ts'
import type { User, Users } from './users.ts'
import type { World } from './world.ts'

export type AppServer = Awaited<ReturnType<typeof startAppServer>>

const LIMIT = 'exports'
const MAX = 1_000_000
const EVENTS = 'user.created,user.updated,user.deleted,subscription.changed'
/** One in this many webhooks is refused at first. */
const REFUSED_EVERY = 20
/** How long webhooks may take after the load, in ms. */
const DELIVERY_TIMEOUT = 300_000

/** The app's own server: counts uses of a limit, and receives webhooks. */
export async function startAppServer(world: World, client: Client, users: Users) {
  const { problems, askWithRetries } = client
  const webhooks = new Set<string>()
  let received = 0
  const receiver = startReceiver(({ body }) => {
    if (++received % REFUSED_EVERY === 0) return new Response(null, { status: 500 })
    const { type, data } = JSON.parse(body)
    webhooks.add(`${type} ${data.userId}`)
    return new Response(null, { status: 204 })
  })
  await publishLimit(world.run, LIMIT, MAX)
  const added = await world.run(['webhooks', 'add', receiver.url, '--events', EVENTS])
  if (added.exitCode !== 0) throw new Error(added.stderr)
  const scope = 'usage:write'
  const { stdout } = await world.run(['api-keys', 'create', 'soak', '--scope', scope, '--json'])
  const token = JSON.parse(stdout).secret as string
  return { webhooks, use, readUsage, waitForWebhooks, [Symbol.dispose]: receiver[Symbol.dispose] }

  async function use(user: User) {
    const json = { userId: user.id, limit: LIMIT, amount: 1, idempotencyKey: crypto.randomUUID() }
    const path = '/api/server/usage/v1'
    const reply = await askWithRetries({ method: 'POST', path, token, json })
    if (users.succeeded(reply, 'a use of a limit')) user.used++
  }

  async function readUsage(user: User) {
    const reply = await users.askAs(user, { method: 'GET', path: '/api/user/usage/v1' })
    if (!users.succeeded(reply, 'the usage')) return
    const limits = reply.json.response as { name: string; used: number }[]
    const used = limits.find(({ name }) => name === LIMIT)?.used
    if (used !== user.used) problems.push(`${user.email} has used ${used}, expected ${user.used}`)
  }

  /** Waits until every expected webhook has arrived. */
  async function waitForWebhooks() {
    const startedAt = performance.now()
    const isMissing = () => users.expectedWebhooks.difference(webhooks).size > 0
    while (isMissing() && performance.now() - startedAt < DELIVERY_TIMEOUT) await Bun.sleep(500)
  }
}
