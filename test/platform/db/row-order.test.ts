import { Database } from 'bun:sqlite'
import { expect } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { uploadBody } from '../../support/attachments.ts'
import { deliver, purchase } from '../../support/billing.ts'
import { onSqlite } from '../../support/databases.ts'

const PUBLIC_ROUTES = ['app_settings', 'pricing_plans', 'faqs', 'currency_rates', 'content_version']
const USER_ROUTES = ['/api/user/export/v1', '/api/auth/sessions/v1']

onSqlite('it reorders the rows in the database file')(
  'exports and ETags do not depend on the order of rows',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeport-order-'))
    try {
      const { before, token } = await fillDatabase(folder)
      reverseRows(join(folder, 'homeport.db'))
      await using app = await createTestApp({ DATA_DIR: folder })
      expect(await read(app, token)).toEqual(before)
    } finally {
      await rm(folder, { recursive: true })
    }
  },
)

/** Creates a user with two or more of everything in an export. */
async function fillDatabase(folder: string) {
  await using app = await createTestApp({ DATA_DIR: folder })
  const { db, settings } = app.services
  const { accessToken: token, user } = await app.register('ann@example.com', { device: 'phone' })
  const json = { email: 'ann@example.com', password: PASSWORD }
  for (const device of ['tablet', 'watch'])
    await app.ask('POST', '/api/auth/login/v1', { json, headers: { device } })
  for (const email of ['new@example.com', 'newer@example.com'])
    await app.ask('POST', '/api/auth/email/v1/change', { token, json: { ...json, email } })
  for (const key of ['one', 'two', 'three']) {
    const headers = { 'idempotency-key': key }
    await uploadBody(app, token, key, 'text/plain', 'supportTicket', headers)
  }
  await db.write(async (tx) => {
    for (const provider of ['google', 'apple'] as const) {
      const row = { provider, subject: 's', userId: user._id, createdAt: app.clock.now }
      await tx.insert(db.tables.identities).values(row)
    }
  })
  for (const alias of ['$b', '$a']) {
    await deliver(app, { ...purchase(alias), id: `E${alias}` })
    await deliver(app, { ...purchase(user._id, { aliases: [alias] }), id: `E-own${alias}` })
  }
  await settings.set({ 'features.second': true, 'features.first': 2 })
  return { token, before: await read(app, token) }
}

async function read(app: TestApp, token: string) {
  const replies = USER_ROUTES.map(async (path) => (await app.ask('GET', path, { token })).text)
  const etags = PUBLIC_ROUTES.map(async (name) => {
    const { headers } = await app.ask('GET', `/api/user/${name}/v1`)
    return [name, headers.get('etag')]
  })
  return { replies: await Promise.all(replies), etags: await Promise.all(etags) }
}

/** Reverses the rows of every table, because another engine may return them in any order. */
function reverseRows(path: string) {
  using database = new Database(path)
  database.run('PRAGMA foreign_keys = OFF')
  const tables = database
    .query<{ name: string }, []>(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND wr = 0 AND type = 'table' AND name NOT LIKE 'sqlite%'",
    )
    .all()
  for (const { name } of tables) {
    database.run(`CREATE TEMP TABLE copied AS SELECT * FROM "${name}" ORDER BY rowid DESC`)
    database.run(`DELETE FROM "${name}"`)
    database.run(`INSERT INTO "${name}" SELECT * FROM copied`)
    database.run('DROP TABLE copied')
  }
}
