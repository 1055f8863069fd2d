import { expect, test } from 'bun:test'
import { readMigrations } from '../../src/platform/db/migrations.ts'
import { typeCommand } from '../support/commands.ts'
import { archives } from './archive.ts'
import { findDifferences, openUpgraded, signInAgain, unpackArchive } from './compare.ts'

test.each(archives)('today’s code answers as version %s did', async (name) => {
  const { dataDir, record } = await unpackArchive(name)
  await using app = await openUpgraded(dataDir, record)
  expect(await findDifferences(app, record)).toEqual([])
  await signInAgain(app, record)
})

test('a rebuild derives purchases from events that were stored before purchases', async () => {
  const { dataDir, record } = await unpackArchive('01')
  await using app = await openUpgraded(dataDir, record)
  const { changed } = (await typeCommand(app, 'events rebuild')).outcome as { changed: string[] }
  const keys = ['PRODUCTION|1000', 'PRODUCTION|2000', 'PRODUCTION|3000', 'PRODUCTION|4000']
  expect(changed.toSorted()).toEqual(keys)
  const { subscriptions } = app.services.db.tables
  expect(await app.services.db.read.$count(subscriptions)).toBe(4)
})

test('the schema version before the newest has an archive', () => {
  const versions = archives.map((name) => Number.parseInt(name, 10))
  expect(Math.max(...versions)).toBeGreaterThanOrEqual(readMigrations('sqlite').length - 1)
})
