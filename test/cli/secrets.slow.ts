import { beforeAll, expect, test } from 'bun:test'
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { checkSecrets } from '../../src/config/secrets.ts'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { register } from '../support/requests.ts'

beforeAll(buildExecutable, 300_000)

const NAMES = [
  'access-token.jwk',
  'encryption-keys.json',
  'file-url.key',
  'pseudonym.key',
  'recovery-code.key',
  'refresh-token.key',
  'seal.key',
]

onSqlite('PostgreSQL has no secret files')(
  `refuses to start with a secret that is empty, truncated, corrupt, missing or readable by others ${fault(142)}`,
  async () => {
    await using homeport = await installExecutable()
    expect((await homeport.run(['init'])).exitCode).toBe(0)
    const folder = join(homeport.folder, 'data', 'secrets')
    expect((await readdir(folder)).toSorted()).toEqual(NAMES)
    for (const name of NAMES) {
      const path = join(folder, name)
      const good = await Bun.file(path).text()
      const expectRefusal = async (reason: string) => {
        const error = await checkSecrets(folder, Number.POSITIVE_INFINITY).catch((thrown) => thrown)
        expect([name, error.message]).toEqual([name, expect.stringContaining(reason)])
        expect(error.message).toContain(name)
        expect(error.message).not.toContain(good.slice(0, 20))
        // The code from here to the exit is the same for every secret, so one test is enough.
        if (name !== NAMES[0]) return
        const start = performance.now()
        const { exitCode, stdout, stderr } = await homeport.run(['serve'], { PORT: '0' })
        expect(performance.now() - start).toBeLessThan(1_000)
        expect([reason, exitCode, stderr.trim().split('\n').length]).toEqual([reason, 78, 1])
        expect(stderr).toContain(name)
        expect(stderr).toContain(reason)
        expect(stdout + stderr).not.toContain(good.slice(0, 20))
        expect(stderr).not.toContain('    at ')
      }
      const write = async (content: string) => {
        await Bun.write(path, content)
        await chmod(path, 0o600)
      }
      await write('')
      await expectRefusal('is empty')
      await write(good.slice(0, good.length / 2))
      await expectRefusal('is damaged')
      await write(good.replaceAll(/[0-9A-Za-z]/g, 'z'))
      await expectRefusal('is damaged')
      await rename(path, `${path}.kept`)
      await expectRefusal('is missing')
      await rename(`${path}.kept`, path)
      await write(good)
      await chmod(path, 0o644)
      await expectRefusal('other users have access')
      await chmod(path, 0o600)
    }
    const server = await homeport.start()
    await server.stop()
  },
  60_000,
)

test('starts again on a volume that Kubernetes has made writable for a group', async () => {
  await using homeport = await installExecutable()
  await (await homeport.start()).stop()
  const data = join(homeport.folder, 'data')
  Bun.spawnSync(['chmod', '-R', 'g+rwX', data])
  expect(await (await homeport.start()).stop()).toBe(0)
  const { stdout } = await homeport.run(['doctor', '--json'])
  const failed = JSON.parse(stdout).filter(({ state }: { state: string }) => state === 'failed')
  expect(failed.map(({ name }: { name: string }) => name)).not.toContain('secrets')
}, 30_000)

onSqlite('PostgreSQL has no secret files')(
  `replaces lost secrets only with --new-secrets, and lists what breaks ${fault(142)}`,
  async () => {
    await using homeport = await installExecutable()
    const server = await homeport.start()
    await register(server, 'ann@example.com')
    const { exitCode, stderr } = await homeport.run(['init', '--new-secrets'])
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('stop it first')])
    await server.stop()
    const folder = join(homeport.folder, 'data', 'secrets')
    const kept = await Bun.file(join(folder, 'pseudonym.key')).text()
    for (const name of NAMES) if (name !== 'pseudonym.key') await rm(join(folder, name))
    expect((await homeport.run(['init'])).exitCode).toBe(78)
    const renewed = await homeport.run(['init', '--new-secrets'])
    expect(renewed).toMatchObject({ exitCode: 0, stderr: '' })
    expect(renewed.stdout).toContain('New seal.key: authenticator app codes')
    expect(renewed.stdout).not.toContain('pseudonym.key')
    expect(await Bun.file(join(folder, 'pseudonym.key')).text()).toBe(kept)
    for (const name of NAMES) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
    const again = await homeport.start()
    expect(await again.stop()).toBe(0)
  },
  60_000,
)

onSqlite('PostgreSQL has no secret files')(
  'a secret that cannot be read is never replaced: it may be intact',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    const path = join(homeport.folder, 'data', 'secrets', 'seal.key')
    await rm(path)
    await mkdir(path)
    for (const args of [['init', '--new-secrets'], ['serve']]) {
      const { exitCode, stderr } = await homeport.run(args)
      expect([exitCode, stderr]).toEqual([78, expect.stringContaining('cannot be read (EISDIR)')])
      expect(stderr).not.toContain('--new-secrets')
    }
    expect((await stat(path)).isDirectory()).toBe(true)
  },
  60_000,
)
