import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { bodyOf, lifecycle } from '../support/billing.ts'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { deliver, postJson, register, signIn, uploadText } from '../support/requests.ts'
import { findLostEvents } from '../support/steady-load.ts'
import { simulateDelay, until } from '../support/until.ts'

beforeAll(buildExecutable, 300_000)

test(`kill -9 at any moment loses no acknowledged user, file or event ${fault(1)}`, async () => {
  await using homeport = await installExecutable()
  const events: string[] = []
  const users: string[] = []
  const files: string[] = []
  for (let round = 0; round < 4; round++) {
    const server = await homeport.start({ LOG_LEVEL: 'warn' })
    const { accessToken } = await register(server, `u${round}@example.com`)
    users.push(`u${round}@example.com`)
    let alive = true
    const busy = Array.from({ length: 8 }, async (_, worker) => {
      for (let at = 0; alive && at < 100_000; at++) {
        const id = `${round}-${worker}-${at}`
        const reply = await deliver(server, id).catch(() => null)
        if (reply?.status === 200) events.push(id)
        if (at % 40 === 0) {
          const url = await uploadText(server, accessToken, id).catch(() => null)
          if (url) files.push(url.slice(url.indexOf('/files/')))
        }
      }
    })
    // Even on a slow machine, some files must be stored before the kill.
    const areStored = () => files.length >= 2 * (round + 1)
    await until(areStored, 'no files are stored', { deadlineMs: 30_000 })
    await simulateDelay(Math.random() * 350)
    server.process.kill('SIGKILL')
    await server.process.exited
    alive = false
    await Promise.all(busy)
  }
  const server = await homeport.start({ LOG_LEVEL: 'warn' })
  expect(events.length).toBeGreaterThan(20)
  expect(await findLostEvents(homeport, events)).toEqual([])
  for (const email of users) expect((await signIn(server, email)).status).toBe(200)
  expect(files.length).toBeGreaterThan(4)
  for (const path of files) {
    const reply = await fetch(server.url + path)
    expect([path, reply.status, (await reply.text()).length]).toEqual([path, 200, 200])
  }
  await server.stop()
}, 60_000)

onSqlite('it reads the database file; test/instances covers PostgreSQL')(
  `redelivering all events after kill -9 during a flood gives the same state ${fault(83, 95)}`,
  async () => {
    await using homeport = await installExecutable()
    const events = Array.from({ length: 400 }, (_, at) => {
      const user = `user-${at % 20}`
      const fields = {
        original_transaction_id: `t-${at % 20}`,
        purchased_day: at / 40,
        expiration_day: at / 40 + 30,
      }
      const types = ['INITIAL_PURCHASE', 'RENEWAL', 'CANCELLATION', 'EXPIRATION', 'BILLING_ISSUE']
      const type = types[at % types.length] ?? ''
      return bodyOf({ ...lifecycle(user, type, at / 40, fields), id: `flood-${at}` })
    })
    const shuffled = events.toSorted((a, b) =>
      Bun.hash(JSON.stringify(a)) < Bun.hash(JSON.stringify(b)) ? -1 : 1,
    )
    const post = (server: Server, body: unknown) =>
      postJson(server, '/api/webhooks/billing/v1', body, WEBHOOK_TOKEN).then(({ status }) => status)
    for (let round = 0; round < 3; round++) {
      const server = await homeport.start({ LOG_LEVEL: 'warn' })
      const flood = Promise.all(shuffled.map((body) => post(server, body).catch(() => 0)))
      await simulateDelay(20 + Math.random() * 60)
      server.process.kill('SIGKILL')
      await flood
    }
    const server = await homeport.start({ LOG_LEVEL: 'warn' })
    for (const body of shuffled) expect(await post(server, body)).toBe(200)
    const report = JSON.parse((await homeport.run(['events', 'rebuild', '--json'])).stdout)
    expect(report).toMatchObject({ events: 400, lines: 20, changed: [] })
    await server.stop()

    await using inOrder = await installExecutable()
    const undisturbed = await inOrder.start({ LOG_LEVEL: 'warn' })
    for (const body of events) expect(await post(undisturbed, body)).toBe(200)
    await undisturbed.stop()
    expect(stateIn(homeport.folder)).toEqual(stateIn(inOrder.folder))
  },
  60_000,
)

/** The stored purchase states of a stopped server. */
function stateIn(folder: string): unknown[] {
  using database = new Database(join(folder, 'data', 'homeport.db'), { readonly: true })
  return database.query('SELECT * FROM subscriptions ORDER BY line_key').all()
}
