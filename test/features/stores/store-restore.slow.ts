import { beforeAll, expect } from 'bun:test'
import { createClock } from '../../support/app.ts'
import { serveAppStoreApi } from '../../support/app-store/api.ts'
import { createAppStore } from '../../support/app-store/app-store.ts'
import { cases } from '../../support/cases.ts'
import { onSqlite } from '../../support/databases.ts'
import { buildExecutable, installExecutable, type Server } from '../../support/executable.ts'
import { postJson } from '../../support/requests.ts'

/** Notifications that are delivered after the backup. */
const LOST = cases(100, 5_000)

beforeAll(buildExecutable, 300_000)

onSqlite('Homeport does not back up PostgreSQL')(
  `after a restore, a catch-up brings back ${LOST} lost notifications`,
  async () => {
    const store = await createAppStore(createClock())
    await using api = serveAppStoreApi(store, () => new Date())
    const settings = { ...store.environment, ...api.environment, LOG_LEVEL: 'error' }
    await using homeport = await installExecutable()
    const { run, start } = homeport
    const before = await start(settings)
    for (let at = 0; at < 10; at++) await deliver(before, store.buy().notification.body)
    const backup = await run(['backup', '--out', 'yesterday.tar'])
    expect(backup.exitCode).toBe(0)
    for (let at = 0; at < LOST; at++) await deliver(before, store.buy().notification.body)
    const all = await listPurchases(run)
    expect(all).toHaveLength(LOST + 10)
    await before.stop()
    expect((await run(['restore', 'yesterday.tar', '--yes'])).exitCode).toBe(0)
    const after = await start(settings)
    expect((await listPurchases(run)).length).toBeLessThan(LOST + 10)
    const { stdout, stderr } = await run(['stores', 'catch-up'])
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^Read \d+ notifications/), ''])
    expect(await listPurchases(run)).toEqual(all)
    await after.stop()
  },
  cases(60_000, 300_000),
)

async function deliver(server: Server, body: object) {
  const { status } = await postJson(server, '/api/webhooks/app-store/v1', body, '')
  expect(status).toBe(200)
}

async function listPurchases(run: (args: string[]) => Promise<{ stdout: string }>) {
  const { stdout } = await run(['purchases', 'list', '--limit', '999999', '--json'])
  return JSON.parse(stdout) as object[]
}
