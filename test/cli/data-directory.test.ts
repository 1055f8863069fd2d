import { expect, test } from 'bun:test'
import { exists, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { requireData } from '../../src/cli/data/data-directory.ts'
import { assertNotUpgradeTarget } from '../../src/cli/service/new-executable.ts'
import { recordMoveToFile, recordService } from '../../src/cli/service/service-record.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import { createTestApp } from '../support/app.ts'

test('commands do not use the old SQLite file of a service that uses PostgreSQL', async () => {
  await using folder = await temporaryFolder()
  const onDisk = readConfig({ DATA_DIR: folder.path }, {})
  const databaseUrl = 'postgres://app:s3cret@db.example.com/app'
  await writeFile(join(folder.path, 'homeport.db'), '')
  await recordService({ ...onDisk, databaseUrl } as Config)
  const place = 'postgres://app@db.example.com/app'
  await expect(requireData(onDisk)).rejects.toThrow(
    `The service that uses ${folder.path} stores its data in ${place}: set DATABASE_URL for this command.`,
  )
  await requireData({ ...onDisk, databaseUrl } as Config)
  await recordMoveToFile(folder.path)
  await requireData(onDisk)
})

test('a start removes the leftovers of an interrupted backup and restore', async () => {
  await using folder = await temporaryFolder()
  const leftovers = ['backup.tmp', 'restore.tmp'].map((name) => join(folder.path, name))
  for (const path of leftovers) {
    await mkdir(join(path, '1'), { recursive: true })
    await writeFile(join(path, '1', 'homeport.db'), 'all users')
  }
  await using _app = await createTestApp({}, { dataDir: folder.path })
  expect(await Promise.all(leftovers.map((path) => exists(path)))).toEqual([false, false])
})

test('an upgrade from the file that it would overwrite is refused', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'homeport.new')
  await writeFile(path, 'new version')
  await expect(assertNotUpgradeTarget(path, path)).rejects.toThrow('Move your file')
  await assertNotUpgradeTarget(path, join(folder.path, 'other.new'))
})

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), 'homeport-data-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
