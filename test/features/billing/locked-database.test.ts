import { Database } from 'bun:sqlite'
import { expect } from 'bun:test'
import { join } from 'node:path'
import { createTestApp, type TestApp, WEBHOOK_TOKEN } from '../../support/app.ts'
import { fillDatabase, onSqlite } from '../../support/databases.ts'
import { fault } from '../../support/fault.ts'

onSqlite('it locks the database file')(
  `replies 503 and stores nothing while the database is locked or full ${fault(96)}`,
  async () => {
    await using app = await createTestApp()
    app.expectErrors()
    const event = { id: 'E', type: 'EXPIRATION', app_user_id: 'u', fill: 'x'.repeat(100_000) }
    const otherConnection = new Database(join(app.dataDir, 'homeport.db'))
    otherConnection.run('BEGIN IMMEDIATE')
    const locked = await deliver(app, { event })
    expect([locked.status, locked.json.code]).toEqual([503, 'unavailable'])
    expect(locked.headers.get('retry-after')).toBe('5')
    otherConnection.run('ROLLBACK')
    otherConnection.close()
    const makeRoom = fillDatabase(app)
    const full = await deliver(app, { event })
    expect([full.status, full.json.code]).toEqual([503, 'unavailable'])
    expect(await events(app)).toEqual([])
    makeRoom()
    expect((await deliver(app, { event })).json.code).toBe('ok')
  },
)

function deliver(app: TestApp, json: unknown) {
  return app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json })
}

function events({ services: { db } }: TestApp) {
  return db.read.select().from(db.tables.billingEvents)
}
