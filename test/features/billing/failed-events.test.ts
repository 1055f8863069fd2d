import { expect } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { deliver, purchase } from '../../support/billing.ts'
import { onSqlite, sqliteClientOf } from '../../support/databases.ts'

/** An event without an effect on access. */
const BODY = `CAST('{"event":{"id":"t","type":"TEST"}}' AS BLOB)`

onSqlite('the rows are inserted with SQLite')(
  'eventually retries every failed event, however many can never be applied',
  async () => {
    await using app = await createTestApp()
    const { eventFolding } = app.services
    const client = sqliteClientOf(app)
    expect(await deliver(app, purchase('ann', { id: 'late' }))).toBe('ok')
    client.run("UPDATE billing_events SET outcome = 'failed', id = 'f'")
    const columns = client
      .query<{ name: string }, []>('PRAGMA table_info(billing_events)')
      .all()
      .map(({ name }) => name)
    const copied = columns.map(
      (name) =>
        ({ id: "'0' || n", event_id: "'hopeless' || n", type: "'TEST'", body: BODY })[name] ?? name,
    )
    client.run(
      `WITH RECURSIVE numbers(n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1999)
      INSERT INTO billing_events (${columns}) SELECT ${copied} FROM billing_events, numbers`,
    )
    const retry = () => eventFolding.retryFailed(AbortSignal.timeout(20_000))
    expect([await retry(), await retry()]).toEqual([0, 1])
  },
)
