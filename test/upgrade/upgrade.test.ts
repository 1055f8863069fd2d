import { expect, test } from 'bun:test'
import { readMigrations } from '../../src/platform/db/migrations.ts'
import { archives } from './archive.ts'
import { findDifferences, openUpgraded, signInAgain, unpackArchive } from './compare.ts'

test.each(archives)('today’s code answers as version %s did', async (name) => {
  const { dataDir, record } = await unpackArchive(name)
  await using app = await openUpgraded(dataDir, record)
  expect(await findDifferences(app, record)).toEqual([])
  await signInAgain(app, record)
})

test('the schema version before the newest has an archive', () => {
  const versions = archives.map((name) => Number.parseInt(name, 10))
  expect(Math.max(...versions)).toBeGreaterThanOrEqual(readMigrations('sqlite').length - 1)
})
