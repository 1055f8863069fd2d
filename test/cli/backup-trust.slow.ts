import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { chmod, cp, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Encrypter, generateIdentity, identityToRecipient } from 'age-encryption'
import { packArchive } from '../../src/cli/backup/archive.ts'
import { bytesOf, changeInfo, makeBackup, makeUnsigned, repack } from '../support/archives.ts'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'

type Homeport = Awaited<ReturnType<typeof installExecutable>>

const MB = 2 ** 20

beforeAll(buildExecutable, 300_000)

const onDisk = onSqlite('on PostgreSQL all installations in tests share a SECRET_KEY')

onDisk(
  'restoring an unsigned backup, or one from another installation, requires --trust',
  async () => {
    await using homeport = await installExecutable()
    await using other = await installExecutable()
    const path = await makeBackup(homeport)
    const foreign = await makeBackup(other)
    await makeUnsigned(path, join(homeport.folder, 'unsigned.tar'))
    for (const [file, reason] of [
      [foreign, 'The backup was not signed by this installation. If'],
      ['unsigned.tar', 'The backup was written by a version that did not sign backups. If'],
    ] as const) {
      expect(await restore(homeport, file)).toEqual([1, expect.stringContaining(reason)])
      const { stdout } = await homeport.run(['restore', '--verify', file])
      expect(stdout).toContain('a restore needs --trust')
      expect(await restore(homeport, file, '--trust')).toEqual([0, ''])
    }
    expect(await restore(homeport, path)).toEqual([0, ''])
    const { stdout } = await homeport.run(['restore', '--verify', path])
    expect(stdout).toContain('This installation signed it.')
  },
  30_000,
)

onDisk(
  'restores and verifies an archive from the standard input, plain or encrypted',
  async () => {
    await using homeport = await installExecutable()
    const path = await makeBackup(homeport)
    const run = async (file: string, options: string[], environment: Record<string, string>) => {
      const command = Bun.spawn(
        [join(homeport.folder, 'homeport'), 'restore', '-', '--trust', ...options],
        { cwd: homeport.folder, env: environment, stdin: Bun.file(file), stdout: 'pipe' },
      )
      return [await command.exited, await command.stdout.text()]
    }
    const verified = await run(path, ['--verify'], {})
    expect(verified).toEqual([0, expect.stringContaining('Standard input is a valid backup')])
    expect((await run(path, [], { DATA_DIR: 'piped' }))[0]).toBe(0)
    expect((await homeport.run(['user', 'list'], { DATA_DIR: 'piped' })).exitCode).toBe(0)
    const key = { BACKUP_KEY: await generateIdentity() }
    await homeport.run(['backup', '--out', 'sealed.tar.age'], key)
    const sealed = join(homeport.folder, 'sealed.tar.age')
    expect((await run(sealed, [], { DATA_DIR: 'unsealed', ...key }))[0]).toBe(0)
    const refused = await homeport.run(['restore', '-', '--trust'], {}, 'not a backup')
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('--yes')])
  },
  30_000,
)

test('names the owner of an archive that the user cannot read', async () => {
  await using homeport = await installExecutable()
  await chmod(homeport.folder, 0o755)
  const folder = join(homeport.folder, 'private')
  await mkdir(folder, { mode: 0o700 })
  await Bun.write(join(folder, 'b.tar'), '')
  const command = Bun.spawn(
    [join(homeport.folder, 'homeport'), 'restore', '--trust', join(folder, 'b.tar')],
    {
      cwd: homeport.folder,
      env: { DATA_DIR: join(homeport.folder, 'new') },
      stderr: 'pipe',
      ...(process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}),
    },
  )
  if (process.getuid?.() !== 0) return
  expect(await command.stderr.text()).toMatch(
    /cannot be read: it, or its folder, belongs to root, and this runs as nobody\. .*restore -/,
  )
  expect(await command.exited).toBe(2)
}, 20_000)

onDisk(
  "on a new machine, a restore needs --trust or the old machine's key",
  async () => {
    await using homeport = await installExecutable()
    const path = await makeBackup(homeport)
    const restoreInto = (DATA_DIR: string, ...options: string[]) =>
      homeport.run(['restore', path, ...options], { DATA_DIR })
    const refused = await restoreInto('new')
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      "DATA_DIR has no key to verify the backup's signature, which is normal on a new machine. If only you can write to your backup folder, add --trust.\n",
    ])
    expect(await restoreInto('new', '--trust')).toMatchObject({ exitCode: 0 })
    expect((await homeport.run(['user', 'list'], { DATA_DIR: 'new' })).exitCode).toBe(0)
    await mkdir(join(homeport.folder, 'prepared'))
    const key = 'installation.key'
    await cp(join(homeport.folder, 'data', key), join(homeport.folder, 'prepared', key))
    expect(await restoreInto('prepared')).toMatchObject({ exitCode: 0 })
    // With a configured SECRET_KEY, no key file is needed.
    const environment = { SECRET_KEY: 'a key of thirty-two characters at least', DATA_DIR: 'third' }
    await homeport.run(['init'], environment)
    await homeport.run(['backup', '--out', 'keyed.tar'], environment)
    const keyed = { ...environment, DATA_DIR: 'fourth' }
    expect(await homeport.run(['restore', 'keyed.tar'], keyed)).toMatchObject({ exitCode: 0 })
  },
  30_000,
)

onDisk(
  'trusts an archive encrypted with the passphrase, but not one for a recipient',
  async () => {
    await using homeport = await installExecutable()
    const path = await makeBackup(homeport)
    const identity = await generateIdentity()
    const writeEncrypted = async (name: string, encrypter: Encrypter) => {
      await Bun.write(
        join(homeport.folder, name),
        await encrypter.encrypt(await Bun.file(path).bytes()),
      )
    }
    const withPassphrase = new Encrypter()
    withPassphrase.setScryptWorkFactor(8)
    withPassphrase.setPassphrase('correct horse')
    await writeEncrypted('passphrase.tar.age', withPassphrase)
    const forRecipient = new Encrypter()
    forRecipient.addRecipient(await identityToRecipient(identity))
    await writeEncrypted('recipient.tar.age', forRecipient)
    const restoreInto = (DATA_DIR: string, file: string, BACKUP_KEY: string) =>
      homeport.run(['restore', file, '--yes'], { BACKUP_KEY, DATA_DIR })
    const fromPassphrase = await restoreInto('new', 'passphrase.tar.age', 'correct horse')
    expect(fromPassphrase).toMatchObject({ exitCode: 0 })
    const untrusted = await restoreInto('third', 'recipient.tar.age', identity)
    expect(untrusted.stderr).toContain('add --trust')
    const signedHere = await restoreInto('data', 'recipient.tar.age', identity)
    expect(signedHere).toMatchObject({ exitCode: 0 })
  },
  30_000,
)

onDisk(
  'refuses an unencrypted backup without --trust if backups are encrypted',
  async () => {
    await using homeport = await installExecutable()
    const path = await makeBackup(homeport)
    const BACKUP_KEY = await identityToRecipient(await generateIdentity())
    const run = (environment: Record<string, string>, ...options: string[]) =>
      homeport.run(['restore', path, '--yes', ...options], environment)
    const refusal = expect.stringContaining('The backup is not encrypted, although')
    expect(await run({ BACKUP_KEY })).toMatchObject({ exitCode: 1, stderr: refusal })
    // The same applies if only the service has a BACKUP_KEY.
    await (await homeport.start({ BACKUP_KEY })).stop()
    expect(await run({})).toMatchObject({ exitCode: 1, stderr: refusal })
    expect(await run({}, '--trust')).toMatchObject({ exitCode: 0 })
  },
  30_000,
)

onDisk(
  'detects changed contents even if all checksums match',
  async () => {
    await using homeport = await installExecutable()
    const path = await makeBackup(homeport)
    const changed = join(homeport.folder, 'changed.tar')
    const changes: Parameters<typeof repack>[2][] = [
      (entries) => entries.set('files/a/new.jpg', bytesOf('x')),
      (entries) => entries.set('secrets/seal.key', bytesOf('0'.repeat(64))),
      (entries) => changeInfo(entries, (info) => ({ ...info, createdAt: '2030' })),
      (entries) => entries.delete('SIGNATURES'),
    ]
    for (const change of changes) {
      await repack(path, changed, change)
      expect(await restore(homeport, changed, '--trust')).toEqual([
        1,
        'The backup was changed after it was written: use another one.\n',
      ])
    }
    await repack(path, changed, (entries) =>
      changeInfo(entries, (info) => ({ ...info, signedBy: [] })),
    )
    expect((await restore(homeport, changed))[1]).toContain('not signed by this installation')
  },
  30_000,
)

onDisk(
  'an archive that contains a file twice is reported as damaged',
  async () => {
    await using homeport = await installExecutable()
    const path = await makeBackup(homeport)
    const archiveInfo = { version: '0.1.0', schemaVersion: 1, createdAt: '2030-01-01T00:00:00Z' }
    const file = { name: 'files/a/x', path }
    const archive = packArchive(archiveInfo, [file, file], [], () => {})
    await Bun.write(join(homeport.folder, 'twice.tar'), new Response(archive))
    const damaged = 'The backup is damaged or incomplete: use another one.\n'
    expect(await restore(homeport, 'twice.tar', '--trust')).toEqual([1, damaged])
  },
  30_000,
)

onDisk(
  'never restores a trigger, view or other object that Homeport did not create',
  async () => {
    await using homeport = await installExecutable()
    const path = await makeBackup(homeport)
    for (const [statement, found] of [
      ['CREATE TRIGGER spy AFTER INSERT ON users BEGIN DELETE FROM plans; END', 'trigger spy'],
      ['CREATE VIEW seen AS SELECT * FROM users', 'view seen'],
      ['CREATE TABLE "own\u001b[2J" (id)', 'table own?[2J'],
      ['CREATE INDEX slow ON users (hex(id))', 'index slow'],
      ['ALTER TABLE plans ADD COLUMN extra TEXT', 'table plans'],
    ] as const) {
      await repack(path, join(homeport.folder, 'foreign.tar'), (entries) => {
        using client = Database.deserialize(entries.get('homeport.db') ?? new Uint8Array())
        client.run(statement)
        entries.set('homeport.db', new Uint8Array(client.serialize()))
        changeInfo(entries, (info) => ({ ...info, signedBy: [] }))
      })
      const [exitCode, stderr] = await restore(homeport, 'foreign.tar', '--trust')
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`has the ${found}, which`)])
      // A backup command refuses to write what a restore would refuse.
      const dataDir = join(homeport.folder, 'tampered')
      await rm(dataDir, { recursive: true, force: true })
      await homeport.run(['init'], { DATA_DIR: 'tampered' })
      using client = new Database(join(dataDir, 'homeport.db'))
      client.run(statement)
      const written = await homeport.run(['backup'], { DATA_DIR: 'tampered' })
      expect([written.exitCode, written.stderr]).toEqual([1, expect.stringContaining('drop it')])
    }
  },
  60_000,
)

/** The peak memory of a process includes its parent's at the start, so a small process starts the command. */
const LAUNCHER = `const child = Bun.spawn(process.argv.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] })
const exitCode = await child.exited
console.log(JSON.stringify({ exitCode, maxRSS: child.resourceUsage().maxRSS }))`

test('checks the sizes that an archive declares before reading the data', async () => {
  await using homeport = await installExecutable()
  const path = join(homeport.folder, 'large.tar')
  const writeHeader = async (text: string) => {
    await using file = await open(path, 'w')
    await file.write(text)
    // The rest is a sparse hole, read as zeros.
    await file.truncate(800 * MB)
  }
  const check = async () => {
    const command = [join(homeport.folder, 'homeport'), 'restore', '--verify', path]
    const child = Bun.spawn([process.execPath, '-e', LAUNCHER, ...command], {
      env: { BACKUP_KEY: 'correct horse' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    expect(await child.stderr.text()).toMatch(/^\S.*: use another (backup|one)\.\n$/)
    const { exitCode, maxRSS } = await child.stdout.json()
    expect(exitCode).toBe(1)
    return maxRSS / MB
  }
  await writeHeader('age-encryption.org/v1\n-> scrypt ')
  expect(await check()).toBeLessThan(400)
  await writeHeader(tarHeader('backup.json', 700 * MB))
  expect(await check()).toBeLessThan(400)
}, 30_000)

function tarHeader(name: string, size: number): string {
  const octal = (value: number, length: number) => value.toString(8).padStart(length - 1, '0')
  const header = (sum: string) =>
    `${name.padEnd(100, '\0')}${octal(0o600, 8)}\0${octal(0, 8)}\0${octal(0, 8)}\0${octal(size, 12)}\0${octal(0, 12)}\0${sum}0${'\0'.repeat(100)}ustar\x0000`.padEnd(
      512,
      '\0',
    )
  const sum = Buffer.from(header(' '.repeat(8)), 'latin1').reduce((total, byte) => total + byte, 0)
  return header(`${octal(sum, 7)}\0 `)
}

async function restore({ run }: Homeport, file: string, ...options: string[]) {
  const { exitCode, stderr } = await run(['restore', file, '--yes', ...options])
  return [exitCode, stderr] as const
}
