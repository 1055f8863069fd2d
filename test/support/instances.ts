import { test } from 'bun:test'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createClock, createTestApp, type TestApp } from './app.ts'
import { createTestDatabase, isOnPostgres } from './databases.ts'

/** A test with several instances on one database; skipped on SQLite, which supports only one. */
export const testInstances = test.skipIf(!isOnPostgres)

/** Maximum number of concurrent clients. */
const CLIENTS = 64

/** Two applications that share a database, a clock and a folder of files. */
export async function createTestInstances(
  environment: Record<string, string> = {},
  options: Omit<Parameters<typeof createTestApp>[1], 'shared'> = {},
) {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await createTestDatabase())
  const clock = createClock()
  const open = async () =>
    opening.use(await createTestApp(environment, { ...options, shared: { database, clock } }))
  const [here, there] = [await open(), await open()]
  await shareFiles(here, there)
  const both = [here, there] as const
  const stack = opening.move()
  return {
    here,
    there,
    both,
    clock,
    databaseUrl: database.environment['DATABASE_URL'] ?? '',
    balancer: createBalancer(both),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** A load balancer: sends each request to a random instance. */
function createBalancer(both: readonly TestApp[]): TestApp {
  const randomInstance = () => both[Math.floor(Math.random() * both.length)] as TestApp
  return { ...(both[0] as TestApp), ask: (...request) => randomInstance().ask(...request) }
}

async function shareFiles(from: TestApp, to: TestApp) {
  const [link, shared] = [join(to.dataDir, 'files'), join(from.dataDir, 'files')]
  await rm(link, { recursive: true, force: true })
  await mkdir(shared, { recursive: true })
  await symlink(shared, link)
}

/** Runs `work` for all items, up to `CLIENTS` at a time. */
export async function mapConcurrently<Item, Result>(
  items: Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const remaining = items.entries()
  const client = async () => {
    for (const [at, item] of remaining) results[at] = await work(item)
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return results
}

/** The numbers from 0 to `count - 1`. */
export function times(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at)
}
