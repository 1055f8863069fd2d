import { expect } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { deliver, purchase } from '../../support/billing.ts'
import { onSqlite, sqliteClientOf } from '../../support/databases.ts'

onSqlite('the fault is an SQLite trigger')(
  'undoes a fold that fails halfway, keeps its event and retries it',
  async () => {
    await using app = await createTestApp()
    app.expectErrors()
    const { db, eventSearch, eventFolding, recorder } = app.services
    const client = sqliteClientOf(app)
    client.run(
      "CREATE TRIGGER fault BEFORE INSERT ON subscriptions BEGIN SELECT RAISE(ABORT, 'a fault'); END",
    )
    expect(await deliver(app, purchase('ann', { id: 'known', original_transaction_id: '1' }))).toBe(
      'ok',
    )
    const other = purchase('ann', { id: 'half', original_transaction_id: '2' })
    expect(await deliver(app, other)).toBe('ok')
    expect(await db.read.$count(db.tables.purchaseOwners)).toBe(0)
    expect(await eventSearch.countFailed()).toBe(2)
    await recorder.flush()
    expect((await recorder.tallies.list(1)).figures).toContainEqual(
      expect.objectContaining({ name: 'billing revenuecat', count: 2, hard: 2 }),
    )
    client.run('DROP TRIGGER fault')
    expect(await eventFolding.retryFailed(AbortSignal.timeout(5_000))).toBe(2)
    expect(await db.read.$count(db.tables.purchaseOwners)).toBe(2)
  },
)
