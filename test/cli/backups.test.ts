import { expect, test } from 'bun:test'
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { removeUnfinished } from '../../src/cli/backup/backups.ts'
import { createConsoleBackups } from '../../src/cli/backup/console-backups.ts'
import { readConfig } from '../../src/config/config.ts'

const HOUR = 60 * 60_000

test('a server that only knows the recipient of its backups does not report them as damaged', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-backups-'))
  const name = 'homeport-20261127T020000Z.tar.age'
  await Bun.write(join(folder, name), 'sealed')
  const plain = 'homeport-20261126T020000Z.tar'
  await Bun.write(join(folder, plain), 'plain')
  const recipient = await identityToRecipient(await generateIdentity())
  const backups = createConsoleBackups(readConfig({ BACKUP_DIR: folder, BACKUP_KEY: recipient }))
  const verification = backups.verify(name, AbortSignal.timeout(5_000))
  await expect(verification).rejects.toThrow(
    'This server does not have the key to decrypt this backup.',
  )
  const canVerify = async (BACKUP_KEY?: string) => {
    const config = readConfig({ BACKUP_DIR: folder, ...(BACKUP_KEY ? { BACKUP_KEY } : {}) })
    const { backups } = await createConsoleBackups(config).list()
    return Object.fromEntries(backups.map((one) => [one.name, one.canVerify]))
  }
  expect(await canVerify(recipient)).toEqual({ [name]: false, [plain]: true })
  expect(await canVerify()).toEqual({ [name]: false, [plain]: true })
  expect(await canVerify('a passphrase')).toEqual({ [name]: true, [plain]: true })
  expect((await backups.list()).backups.map(({ problem }) => problem)).toEqual([null, null])
  await rm(folder, { recursive: true })
})

test('removes only old unfinished backups from a shared folder', async () => {
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
