import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { readMigrations } from '../../src/platform/db/migrations.ts'
import { auditLabels } from '../../src/server/declarations.ts'
import { runCommand } from '../support/commands.ts'
import { isFeatureLeftOut } from '../support/left-out.ts'
import { archives } from './archive.ts'
import { findDifferences, openUpgraded, signInAgain, unpackArchive } from './compare.ts'

/** `upgrade.slow.ts` opens all of them. */
const FEW = [...archives.slice(0, 1), ...archives.slice(-3)]

test.each(FEW)('today’s code gives the same responses as version %s did', async (name) => {
  const { dataDir, record } = await unpackArchive(name)
  await using app = await openUpgraded(dataDir, record)
  expect(await findDifferences(app, record)).toEqual([])
  await signInAgain(app, record)
})

test('a rebuild derives purchases from events that were stored before purchases', async () => {
  const { dataDir, record } = await unpackArchive('01')
  await using app = await openUpgraded(dataDir, record)
  const { changed } = (await runCommand(app, 'events rebuild')).outcome as { changed: string[] }
  const keys = ['PRODUCTION|1000', 'PRODUCTION|2000', 'PRODUCTION|3000', 'PRODUCTION|4000']
  expect(changed.toSorted()).toEqual(keys)
  const { subscriptions } = app.services.db.tables
  expect(await app.services.db.read.$count(subscriptions)).toBe(4)
})

test('finds an audit entry by its earlier and current names', async () => {
  const { dataDir, record } = await unpackArchive('27')
  const former = [
    ['user verify', 'users.verify'],
    ['user note', 'users.add-note'],
    ['events retry', 'events.replay-matching'],
    ['events.reconcile', 'users.refresh-purchases'],
    ['purchases take-back', 'purchases.unlink'],
    ['settings import', 'settings.publish'],
    ['webhooks.resend', 'deliveries.resend'],
    ['operators.role', 'operators.change-role'],
  ].filter(([, current = '']) => !isFeatureLeftOut || Object.hasOwn(auditLabels, current))
  using db = new Database(join(dataDir, 'homeport.db'))
  for (const [name = ''] of former)
    db.run('INSERT INTO audit_entries (id, at, origin, action) VALUES (?1, 0, ?1, ?1)', [name])
  db.close()
  await using app = await openUpgraded(dataDir, record)
  const { audit } = app.services.operators
  for (const [name = '', current = ''] of former) {
    const found = (await audit.list({ action: name })).entries
    expect(found.map(({ id, action }) => [id, action])).toContainEqual([name, current])
    expect((await audit.list({ action: current })).entries).toEqual(found)
  }
  const { entries } = await audit.list({ limit: 100 })
  // A feature may have been left out.
  const nouns = new Set(Object.keys(auditLabels).map((name) => name.split('.')[0]))
  const known = entries.filter(({ action }) => !isFeatureLeftOut || nouns.has(action.split('.')[0]))
  expect(known.filter(({ action }) => !Object.hasOwn(auditLabels, action))).toEqual([])
})

test('the schema version before the newest has an archive', () => {
  const versions = archives.map((name) => Number.parseInt(name, 10))
  expect(Math.max(...versions)).toBeGreaterThanOrEqual(readMigrations('sqlite').length - 1)
})
