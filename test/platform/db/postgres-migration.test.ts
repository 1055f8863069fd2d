import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { readMigrations } from '../../../src/platform/db/migrations.ts'
import { migrate } from '../../../src/platform/db/postgres/migrate.ts'
import { openPools } from '../../../src/platform/db/postgres/open.ts'
import { createTestDatabase, isOnPostgres } from '../../support/databases.ts'

test.skipIf(!isOnPostgres)(
  'a migration that waits for a backup does not hold up requests',
  async () => {
    await using database = await createTestDatabase()
    const { DATABASE_URL: url = '' } = database.environment
    await using backup = new SQL({ url, max: 1 })
    await using instance = new SQL({ url, max: 1 })
    const pools = openPools(url, 2)
    const statements = ['ALTER TABLE users ADD COLUMN added bigint']
    const { promise: backedUp, resolve: finishBackup } = Promise.withResolvers<void>()
    const reading = backup.begin('isolation level repeatable read read only', async (tx) => {
      await tx`SELECT count(*) FROM users`
      await backedUp
    })
    const { promise: waits, resolve: onWait } = Promise.withResolvers<void>()
    const migrations = [...readMigrations('postgres'), { tag: 'added', statements }]
    const migrating = migrate(pools.changes, migrations, () => {}, onWait)
    await waits
    const startedAt = performance.now()
    await instance`SELECT count(*) FROM users`
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    finishBackup()
    await reading
    expect(await migrating).toEqual(['added'])
    await Promise.all([pools.reads.close(), pools.changes.close()])
  },
  60_000,
)
