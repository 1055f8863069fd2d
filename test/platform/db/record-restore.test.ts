import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordRestore } from '../../../src/platform/db/sqlite/record-restore.ts'

test('restoring an older backup after another restore does not lower any content version', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-restore-'))
  const restore = (name: string, version: number) => {
    const path = join(folder, name)
    using db = new Database(path)
    db.run('CREATE TABLE content_versions (name TEXT, version INTEGER)')
    db.run("INSERT INTO content_versions VALUES ('faqs', ?)", [version])
    recordRestore(path, [])
    const row = db.query('SELECT version FROM content_versions').get() as { version: number }
    return row.version
  }
  const first = restore('tuesday', 8)
  expect(first).toBeGreaterThan(8)
  expect(restore('monday', 5)).toBeGreaterThanOrEqual(first)
  expect(restore('later', first + 10)).toBe(first + 11)
  await rm(folder, { recursive: true })
})
