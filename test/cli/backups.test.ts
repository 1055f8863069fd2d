import { expect, test } from 'bun:test'
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeUnfinished } from '../../src/cli/backup/backups.ts'

const HOUR = 60 * 60_000

test('of the unfinished backups in a shared folder, only old ones are removed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-backups-'))
  const [running, killed] = ['homeport-20261127T020000Z', 'homeport-20261125T020000Z'].map(
    (name) => `${name}.tar.homeport-partial`,
  ) as [string, string]
  for (const name of [running, killed]) await Bun.write(join(folder, name), 'x')
  const dayBefore = new Date(Date.now() - 25 * HOUR)
  await utimes(join(folder, killed), dayBefore, dayBefore)
  await removeUnfinished(folder, 24 * HOUR)
  expect(await readdir(folder)).toEqual([running])
  await removeUnfinished(folder, 0)
  expect(await readdir(folder)).toEqual([])
  await rm(folder, { recursive: true })
})
