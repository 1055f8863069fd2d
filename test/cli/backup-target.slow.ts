import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, rmdirSync } from 'node:fs'
import { lstat, mkdir, readdir, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sha256 } from '../../src/lib/crypto/hash.ts'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'

beforeAll(buildExecutable, 300_000)

test('--out names a file, unless it is a directory or ends with a slash', async () => {
  await using homeport = await installExecutable()
  const { run, folder } = homeport
  await run(['init'])
  await mkdir(join(folder, 'there'))
  await symlink('there', join(folder, 'linked'))
  const writeBackup = async (out: string) => {
    const { stdout, stderr } = await run(['backup', '--json', '--out', out])
    expect(stderr).toBe('')
    return (JSON.parse(stdout) as { path: string }).path
  }
  const name = /^homeport-\d{8}T\d{6}Z\.tar$/
  expect(await writeBackup('copy.backup')).toBe(join(folder, 'copy.backup'))
  expect(await writeBackup('deep/er/copy')).toBe(join(folder, 'deep/er/copy'))
  for (const out of ['there', 'linked', 'new/', 'data/backups/', 'data/backups/copy.tar'])
    expect((await lstat(await writeBackup(out))).isFile()).toBe(true)
  for (const directory of ['there', 'new'])
    for (const file of await readdir(join(folder, directory))) expect(file).toMatch(name)
  expect((await readdir(join(folder, 'there'))).length).toBe(2)
}, 30_000)

test('a backup only replaces a regular file, and only after confirmation', async () => {
  await using homeport = await installExecutable()
  const { run, folder } = homeport
  await run(['init'])
  await Bun.write(join(folder, 'mine.txt'), 'mine')
  await Bun.write(join(folder, 'new.tar.partial'), 'mine')
  await symlink('mine.txt', join(folder, 'link'))
  await symlink('nowhere', join(folder, 'dangling'))
  Bun.spawnSync(['mkfifo', join(folder, 'pipe')])
  const refused: [out: string, reason: string][] = [
    ['mine.txt', 'Add --yes'],
    ['link', 'symbolic link'],
    ['dangling', 'symbolic link'],
    ['pipe', 'not a regular file'],
    ['/dev/null', 'not a regular file'],
  ]
  for (const [out, reason] of refused) {
    const yes = reason === 'Add --yes' ? [] : ['--yes']
    const { exitCode, stderr } = await run(['backup', '--out', out, ...yes])
    expect([out, exitCode, stderr]).toEqual([out, 2, expect.stringContaining(reason)])
  }
  expect(await run(['backup', '--out', 'new.tar'])).toMatchObject({ exitCode: 0 })
  for (const name of ['mine.txt', 'new.tar.partial'])
    expect(await Bun.file(join(folder, name)).text()).toBe('mine')
  expect(await run(['backup', '--out', 'mine.txt', '--yes'])).toMatchObject({ exitCode: 0 })
  expect(await run(['restore', '--verify', 'mine.txt'])).toMatchObject({ exitCode: 0 })
}, 30_000)

onSqlite('on PostgreSQL the data directory contains no database')(
  "refuses to write a backup inside the server's data",
  async () => {
    await using homeport = await installExecutable()
    const { run, folder } = homeport
    await run(['init'])
    await symlink('data', join(folder, 'linked'))
    const database = join(folder, 'data', 'homeport.db')
    const before = sha256(await Bun.file(database).bytes(), 'hex')
    for (const out of [
      'data/homeport.db',
      'data/secrets/',
      'data/secrets/seal.key',
      'data/new.tar',
      'data/backups',
      'linked/new.tar',
      'linked/files/a/new.tar',
    ]) {
      const { exitCode, stderr } = await run(['backup', '--out', out, '--yes'])
      expect([out, exitCode, stderr]).toEqual([out, 2, expect.stringContaining('inside DATA')])
    }
    expect(sha256(await Bun.file(database).bytes(), 'hex')).toBe(before)
  },
  30_000,
)

test('backups made in the same second get distinct names', async () => {
  await using homeport = await installExecutable()
  await homeport.run(['init'])
  for (let at = 0; at < 4; at++) expect((await homeport.run(['backup'])).exitCode).toBe(0)
  expect(await readdir(join(homeport.folder, 'data', 'backups'))).toHaveLength(4)
}, 30_000)

onSqlite('the backup first copies the data directory')(
  'a backup that does not fit on the disk fails with one line and leaves no files',
  async () => {
    await using homeport = await installExecutable()
    const { run, folder } = homeport
    await run(['init'])
    const runWithFileLimit = (megabytes: number, ...args: string[]) => {
      const limit = ['prlimit', `--fsize=${megabytes * 2 ** 20}`]
      const options = { cwd: folder, env: {} }
      const { exitCode, stderr } = Bun.spawnSync([...limit, './homeport', ...args], options)
      return [exitCode, stderr.toString()]
    }
    await Bun.write(join(folder, 'data/files/a/picture.jpg'), new Uint8Array(3 * 2 ** 20))
    const full = [1, expect.stringMatching(/^The disk that holds \S+ is full \(EFBIG\).*\n$/)]
    expect(runWithFileLimit(2, 'backup')).toEqual(full)
    expect(await readdir(join(folder, 'data', 'backups'))).toEqual([])
    expect(await run(['backup', '--out', 'good.tar'])).toMatchObject({ exitCode: 0 })
    expect(runWithFileLimit(2, 'restore', 'good.tar', '--yes')).toEqual(full)
    const noCopy = [1, expect.stringMatching(/^The database cannot be copied to .*\n$/)]
    expect(runWithFileLimit(0.1, 'backup')).toEqual(noCopy)
  },
  30_000,
)

test('reports an empty option, a directory and a file that is not a backup', async () => {
  await using homeport = await installExecutable()
  const { run, folder } = homeport
  await run(['init'])
  await Bun.write(join(folder, 'page.html'), '<html>Not found</html>')
  const refused: [args: string[], exitCode: number, message: string][] = [
    [['restore', '--verify', '/etc/passwd'], 1, 'This is not a homeport backup: choose a file'],
    [['restore', '--verify', 'page.html'], 1, 'This is not a homeport backup: choose a file'],
    [['restore', '--verify', '.'], 2, 'is not a file'],
    [['backup', '--out='], 2, '--out is empty'],
    [['backup', '--data-dir='], 2, '--data-dir is empty'],
  ]
  for (const [args, exitCode, message] of refused) {
    const result = await run(args)
    expect([args, result.exitCode, result.stderr]).toEqual([
      args,
      exitCode,
      expect.stringContaining(message),
    ])
  }
})

const FEW_INODES_MOUNT = join(tmpdir(), `homeport-few-files-${process.pid}`)
const isMounted = mountWithFewInodes()
afterAll(() => {
  Bun.spawnSync(['umount', FEW_INODES_MOUNT])
  rmdirSync(FEW_INODES_MOUNT)
})

onSqlite('the backup first copies the data directory')(
  'a disk without free inodes is not reported as full',
  async () => {
    // Only root can mount a file system.
    if (!isMounted) return
    await using homeport = await installExecutable()
    const { run } = homeport
    await run(['init'])
    for (let at = 0; await canCreate(join(FEW_INODES_MOUNT, `file-${at}`)); at++);
    const elsewhere = await run(['backup', '--out', join(FEW_INODES_MOUNT, 'new', 'one.tar')])
    const message = expect.stringMatching(
      /^The disk that holds \S+ has no free inodes \(ENOSPC\).*df -i.*\n$/,
    )
    expect([elsewhere.exitCode, elsewhere.stderr]).toEqual([1, message])
    const started = await run(['init'], { DATA_DIR: FEW_INODES_MOUNT })
    expect([started.exitCode, started.stderr]).toEqual([
      1,
      expect.stringMatching(/^The disk that holds \S+ has no free inodes: .*df -i.*\n$/),
    ])
  },
  30_000,
)

function mountWithFewInodes(): boolean {
  mkdirSync(FEW_INODES_MOUNT, { recursive: true })
  const options = ['-t', 'tmpfs', '-o', 'nr_inodes=20,size=64m', 'tmpfs', FEW_INODES_MOUNT]
  return Bun.spawnSync(['mount', ...options]).success
}

function canCreate(path: string): Promise<boolean> {
  return Bun.write(path, 'x').then(
    () => true,
    () => false,
  )
}
