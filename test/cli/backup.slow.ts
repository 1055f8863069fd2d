import { beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import type { Subprocess } from 'bun'
import { backupJobs } from '../../src/cli/backup/jobs.ts'
import { finishRestore } from '../../src/cli/backup/replace-data.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/lib/log/log.ts'
import { takeLock } from '../../src/platform/db/sqlite/lock.ts'
import { childrenOf } from '../bench/servers.ts'
import { makeBackup } from '../support/archives.ts'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { deliver, register, signIn, uploadText } from '../support/requests.ts'
import { simulateDelay, until } from '../support/until.ts'

beforeAll(buildExecutable, 300_000)

onSqlite('on PostgreSQL a restore needs an empty database: see copy.slow.ts')(
  `a restore brings back the backed-up data and moves newer data aside ${fault(21)}`,
  async () => {
    await using homeport = await installExecutable()
    const { run, folder } = homeport
    const server = await homeport.start()
    const { accessToken } = await register(server, 'before@example.com')
    const url = await uploadText(server, accessToken, 'kept')
    await deliver(server, 'E1')
    const written = await run(['backup', '--out', 'first.tar'])
    expect(written).toMatchObject({ exitCode: 0, stderr: '' })
    expect(written.stdout).toContain('read back and verified')
    expect(((await stat(join(folder, 'first.tar'))).mode & 0o777).toString(8)).toBe('600')
    await register(server, 'after@example.com')
    expect((await run(['restore', 'first.tar', '--yes'])).stderr).toContain('Another Homeport')
    await server.stop()

    expect((await run(['restore', 'first.tar'])).stderr).toContain('Add --yes')
    const restored = await run(['restore', 'first.tar', '--yes', '--json'])
    expect(restored.exitCode).toBe(0)
    const restarted = await homeport.start()
    expect((await signIn(restarted, 'before@example.com')).status).toBe(200)
    expect((await signIn(restarted, 'after@example.com')).status).toBe(401)
    expect((await fetch(url.replace(server.url, restarted.url))).status).toBe(200)
    expect((await deliver(restarted, 'E1')).code).toBe('duplicate')
    const { aside } = JSON.parse(restored.stdout)
    expect((await readdir(aside)).toSorted()).toContainEqual('homeport.db')
    await restarted.stop()

    // Each restore keeps the data that it replaced, even two in the same second.
    for (const _ of [1, 2]) expect((await run(['restore', 'first.tar', '--yes'])).exitCode).toBe(0)
    const kept = (await readdir(join(folder, 'data'))).filter((name) => name.startsWith('before-'))
    expect(kept).toHaveLength(3)
  },
  30_000,
)

test(`changed and truncated archives are detected, and nothing is restored ${fault(14)}`, async () => {
  await using homeport = await installExecutable()
  const path = await makeBackup(homeport)
  const good = await Bun.file(path).bytes()
  const wrong = join(homeport.folder, 'wrong.tar')
  for (let tries = 0; tries < 6; tries++) {
    const bytes = good.slice()
    const at = Math.floor(Math.random() * bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (tries % 8))
    await Bun.write(wrong, tries === 0 ? good.subarray(0, at) : bytes)
    const { exitCode, stderr } = await homeport.run(['restore', wrong, '--yes'])
    expect([at, exitCode]).toEqual([at, 1])
    expect(stderr).toMatch(/damaged|not a homeport backup/)
  }
  expect((await readdir(join(homeport.folder, 'data'))).join()).not.toMatch(/restor/)
  expect((await homeport.run(['restore', path, '--verify'])).exitCode).toBe(0)
}, 30_000)

test(`a killed backup leaves no incomplete backup file ${fault(20)}`, async () => {
  await using homeport = await installExecutable()
  await makeBackup(homeport)
  const folder = join(homeport.folder, 'data', 'backups')
  for (const after of [0, 10, 20, 30, 40, 60]) {
    const args = [join(homeport.folder, 'homeport'), 'backup']
    const child = Bun.spawn(args, {
      cwd: homeport.folder,
      env: {},
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    await simulateDelay(80 + after)
    child.kill('SIGKILL')
    await child.exited
  }
  expect((await homeport.run(['backup'])).exitCode).toBe(0)
  for (const name of await readdir(folder)) {
    expect((await homeport.run(['restore', '--verify', join(folder, name)])).exitCode).toBe(0)
  }
  expect(await readdir(join(homeport.folder, 'data'))).not.toContain('backup.tmp')
}, 20_000)

onSqlite('only SQLite is copied by a process')(
  'stopping a backup also stops the process that copies the database',
  async () => {
    await using homeport = await installExecutable()
    await makeBackup(homeport)
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
      const { backup, copier } = await haltBackup(homeport.folder)
      backup.kill(signal)
      await backup.exited
      // A killed process ends only when it is scheduled again, which may be after its parent has ended.
      await until(async () => !(await isCopier(copier)), 'the process does not end')
    }
  },
  20_000,
)

onSqlite('only SQLite is copied by a process')(
  'a backup fails with the reason when the process that copies the database is killed',
  async () => {
    await using homeport = await installExecutable()
    await makeBackup(homeport)
    const { backup, copier } = await haltBackup(homeport.folder)
    process.kill(copier, 'SIGKILL')
    expect([await backup.exited, await backup.stderr.text()]).toEqual([
      1,
      expect.stringContaining('killed by SIGKILL'),
    ])
    expect((await homeport.run(['backup', '--yes'])).exitCode).toBe(0)
  },
  20_000,
)

/** Starts backups until one is halted while its child process copies the database. */
async function haltBackup(folder: string) {
  for (;;) {
    const backup = Bun.spawn([join(folder, 'homeport'), 'backup', '--yes'], {
      cwd: folder,
      env: {},
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const copier = await haltCopier(backup)
    if (copier !== null) return { backup, copier }
    await backup.exited
  }
}

async function isCopier(pid: number): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return command.includes('copy-database')
}

/** Halts the process that copies the database for a backup; null if it has already finished. */
async function haltCopier(backup: Subprocess): Promise<number | null> {
  while (backup.exitCode === null) {
    const [copier] = await childrenOf(backup.pid).catch(() => [])
    // Until the child runs its program, the parent waits for it.
    if (!copier || !(await isCopier(copier))) continue
    try {
      process.kill(copier, 'SIGSTOP')
      return copier
    } catch {}
  }
  return null
}

test(`a restore refuses a file that is not a Homeport backup, with one line of output ${fault(22)}`, async () => {
  await using homeport = await installExecutable()
  const { run, folder } = homeport
  await makeBackup(homeport)
  const attempts: [string, string | Uint8Array][] = [
    ['empty.tar', ''],
    ['text.tar', 'not an archive'.repeat(1000)],
    ['foreign.tar', await new Bun.Archive({ 'homeport.db': 'x', '../../escape': 'y' }).bytes()],
  ]
  for (const [name, content] of attempts) {
    await Bun.write(join(folder, name), content)
    const { exitCode, stderr } = await run(['restore', name, '--yes'])
    expect([name, exitCode, stderr.trim().split('\n').length]).toEqual([name, 1, 1])
  }
  expect((await run(['restore', 'missing.tar'])).stderr).toContain('cannot be read')
}, 20_000)

test('a backup for a recipient can be read only with the secret key', async () => {
  await using homeport = await installExecutable()
  const { run } = homeport
  const identity = await generateIdentity()
  const recipient = await identityToRecipient(identity)
  const path = await makeBackup(homeport, { BACKUP_KEY: recipient })
  expect(path).toEndWith('.tar.age')
  // The command needs no BACKUP_KEY of its own: it uses the running server's.
  const server = await homeport.start({ BACKUP_KEY: recipient })
  expect((await run(['backup', '--out', 'by-hand.tar'])).exitCode).toBe(0)
  expect((await run(['restore', '--verify', 'by-hand.tar'])).stderr).toContain('BACKUP_KEY')
  await server.stop()
  const verify = (env: Record<string, string>) => run(['restore', '--verify', path], env)
  expect((await verify({ BACKUP_KEY: identity })).exitCode).toBe(0)
  for (const env of [{}, { BACKUP_KEY: recipient }, { BACKUP_KEY: await generateIdentity() }]) {
    const { exitCode, stderr } = await verify(env)
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('BACKUP_KEY')])
  }
}, 20_000)

onSqlite('the job reads its configuration from the data directory')(
  'BACKUP_SCHEDULE keeps the newest backups and leaves other files in their folder alone',
  async () => {
    await using homeport = await installExecutable()
    const path = await makeBackup(homeport)
    const folder = join(homeport.folder, 'data', 'backups')
    await Bun.write(join(folder, 'mine.tar'), 'x')
    for (const day of [1, 2, 3]) await cp(path, join(folder, `homeport-2026010${day}T000000Z.tar`))
    await rm(path)
    const env = {
      DATA_DIR: join(homeport.folder, 'data'),
      BACKUP_SCHEDULE: '0 2 * * *',
      BACKUP_KEEP: '2',
    }
    const [job] = backupJobs(readConfig({}, env), createLog('silent'))
    await job?.run(new AbortController().signal)
    const names = (await readdir(folder)).toSorted()
    expect(names).toEqual([
      'homeport-20260103T000000Z.tar',
      expect.stringMatching(/^homeport-\d{8}T\d{6}Z\.tar$/),
      'mine.tar',
    ])
  },
  20_000,
)

test('the next start completes a restore that was interrupted at any point', async () => {
  await using homeport = await installExecutable()
  const moves = [
    ['data/homeport.db-wal', 'data/aside/homeport.db-wal'],
    ['data/homeport.db', 'data/aside/homeport.db'],
    ['data/restored/homeport.db', 'data/homeport.db'],
    ['data/secrets', 'data/aside/secrets'],
    ['data/restored/secrets', 'data/secrets'],
    ['data/files', 'data/aside/files'],
    ['data/restored/files', 'data/files'],
  ] as const
  for (let count = 0; count <= moves.length; count++) {
    const root = join(homeport.folder, String(count))
    await fill(join(root, 'data'), 'old')
    await Bun.write(join(root, 'data/homeport.db-wal'), 'old')
    await fill(join(root, 'data/restored'), 'new')
    await Bun.write(join(root, 'data/restored/aside.txt'), 'aside')
    await mkdir(join(root, 'data/aside'))
    for (const [from, to] of moves.slice(0, count)) await rename(join(root, from), join(root, to))
    await finishRestore(join(root, 'data'))
    expect(await readdir(join(root, 'data'))).toEqual(
      expect.arrayContaining(['aside', 'files', 'homeport.db', 'secrets']),
    )
    expect((await readdir(join(root, 'data'))).length).toBe(4)
    expect(await Bun.file(join(root, 'data/homeport.db')).text()).toBe('new')
    expect(await Bun.file(join(root, 'data/secrets/a')).text()).toBe('new')
    expect(await Bun.file(join(root, 'data/aside/files/a')).text()).toBe('old')
    expect(await Bun.file(join(root, 'data/aside/homeport.db-wal')).text()).toBe('old')
  }
})

test('a start removes the leftovers of a killed backup, but not while a backup is being written', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'homeport-left-'))
  const leftovers = join(dataDir, 'backup.tmp')
  await mkdir(leftovers)
  {
    using _writing = takeLock(join(dataDir, 'backup.lock'))
    await finishRestore(dataDir)
    expect(existsSync(leftovers)).toBe(true)
  }
  await finishRestore(dataDir)
  expect(existsSync(leftovers)).toBe(false)
  await rm(dataDir, { recursive: true })
})

async function fill(folder: string, content: string) {
  for (const name of ['homeport.db', 'secrets/a', 'files/a']) {
    await Bun.write(join(folder, name), content)
  }
}
