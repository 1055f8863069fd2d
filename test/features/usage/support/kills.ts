import type { installExecutable, Server } from '../../../support/executable.ts'

import { publishLimit } from '../../../support/publish-limit.ts'

type Homeport = Awaited<ReturnType<typeof installExecutable>>
type Use = { userId: string; idempotencyKey: string }

const LIMIT = 'exports'
const MAX = 1_000_000
const USERS = 3
const CLIENTS = 8

/**
 * Uses a limit while the server is killed `kills` times. A client repeats a request until it is answered, as the app's
 * own server would. Returns the number of uses, and the expected and the stored counts.
 */
export async function useThroughKills(homeport: Homeport, kills: number) {
  const environment = { RATE_LIMITS: 'off' }
  let server = await homeport.start(environment)
  await publishLimit((args, input) => homeport.run(args, {}, input), LIMIT, MAX)
  const scope = 'users:write,usage:read,usage:write'
  const { stdout } = await homeport.run(['api-keys', 'create', 'kills', '--scope', scope, '--json'])
  const token = JSON.parse(stdout).secret as string
  const userIds: string[] = []
  for (let at = 0; at < USERS; at++) {
    const json = { email: `user${at}@example.com` }
    const { response } = await ask(server, token, 'users/v1', json)
    userIds.push(response._id)
  }
  const repeated: Use[] = []
  const counts = new Map(userIds.map((id) => [id, 0]))
  let made = 0
  for (let kill = 0; kill < kills; kill++) {
    const using = Array.from({ length: CLIENTS }, () => useUntilDown(server))
    await Bun.sleep(50 + Math.random() * 200)
    await server.stop('SIGKILL')
    await Promise.all(using)
    server = await homeport.start(environment)
  }
  while (repeated.length > 0) await useOnce(server, repeated.pop() as Use)
  const stored = new Map<string, number>()
  for (const userId of userIds) {
    const { response } = await ask(server, token, `usage/v1?userId=${userId}`)
    const usage = (response as { name: string; used: number }[]).find(({ name }) => name === LIMIT)
    stored.set(userId, usage?.used ?? 0)
  }
  await server.stop()
  return { made, counted: counts, stored }

  async function useUntilDown(current: Server) {
    for (;;) {
      const use = repeated.pop() ?? {
        userId: userIds[made % USERS] as string,
        idempotencyKey: `use-${++made}`,
      }
      try {
        await useOnce(current, use)
      } catch {
        repeated.push(use)
        return
      }
    }
  }

  async function useOnce(current: Server, use: Use) {
    const { response } = await ask(current, token, 'usage/v1', { ...use, limit: LIMIT, amount: 1 })
    if (!response.allowed) throw new Error('a use below the limit was refused')
    counts.set(use.userId, (counts.get(use.userId) ?? 0) + 1)
  }
}

async function ask({ url }: Server, token: string, path: string, json?: object) {
  const reply = await fetch(`${url}/api/server/${path}`, {
    method: json ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(json ? { body: JSON.stringify(json) } : {}),
  })
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  const body: any = await reply.json()
  if (reply.status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`)
  return body
}
