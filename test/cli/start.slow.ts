import { beforeAll, expect, test } from 'bun:test'
import { chmod, chown, mkdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { isOnPostgres } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { deliver, register, requesterFor } from '../support/requests.ts'
import { startS3 } from '../support/s3-server.ts'
import { ACCOUNT } from '../support/s3-store.ts'
import { simulateDelay, until } from '../support/until.ts'

beforeAll(buildExecutable, 300_000)

test('logs readable text on a terminal, with the URL to open', async () => {
  await using homeport = await installExecutable()
  await mkdir(join(homeport.folder, 'data'))
  await chmod(join(homeport.folder, 'data'), 0o777)
  const server = await homeport.start({ LOG_FORMAT: 'text', HOST: '0.0.0.0', SMTP_URI: 'x' })
  await requesterFor(server)('GET', '/api/user/app_settings/v1')
  await server.stop()
  const log = await Bun.file(join(homeport.folder, 'log')).text()
  expect(log).toContain('SMTP_URI is not a known variable: did you mean SMTP_URL?')
  expect(log).toContain(`can write to ${homeport.folder}/data: run "chmod o-w`)
  expect(log).toContain(
    `is listening on 0.0.0.0:${server.port} (IPv4 only), with its data in ${homeport.folder}/data. Open http://localhost:${server.port}/docs`,
  )
  expect(log).toMatch(/INFO: GET \/api\/user\/app_settings\/v1 200 in [\d.]+ ms\n/)
}, 30_000)

test('without a terminal the log is JSON and contains the user id of each request', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const { accessToken } = await register(server, 'ann@example.com')
  const headers = { authorization: `Bearer ${accessToken}` }
  const profile = await requesterFor(server)('GET', '/api/user/profile/v1', { headers })
  await server.stop()
  const lines = (await Bun.file(join(homeport.folder, 'log')).text()).trim().split('\n')
  const log = lines.map((line) => JSON.parse(line))
  expect(log).toContainEqual(expect.objectContaining({ msg: 'listening', pid: server.process.pid }))
  const userId = profile.body.response._id
  expect(log).toContainEqual(expect.objectContaining({ route: '/api/user/profile/v1', userId }))
}, 30_000)

test('status and health report the same as /ready, and exit 1 without a server', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  await register(server, 'ann@example.com')
  await deliver(server, 'E1')
  const PORT = String(server.port)
  const { body: components } = await requesterFor(server)('GET', '/ready')
  const status = await homeport.run(['status', '--json'])
  expect(status.exitCode).toBe(0)
  expect(JSON.parse(status.stdout)).toMatchObject({
    isReady: true,
    ready: components,
    users: 1,
    sessions: 1,
    events: 1,
    failed: 0,
  })
  expect((await homeport.run(['status'])).stdout).toContain('users      1, sessions 1')
  const health = await homeport.run(['health', '--json'], { PORT })
  expect([health.exitCode, JSON.parse(health.stdout)]).toEqual([0, components])
  await server.stop()
  const stopped = await homeport.run(['status'])
  expect([stopped.exitCode, stopped.stdout]).toEqual([1, expect.stringContaining('not running')])
  expect((await homeport.run(['health'], { PORT })).exitCode).toBe(1)
}, 30_000)

test('status exits 1 if there is no space for files', async () => {
  await using homeport = await installExecutable()
  // The server never becomes ready. A command that ran before it has started would hold the data lock.
  await homeport.launch({ PORT: '0', MIN_FREE_BYTES: String(2 ** 52) })
  await homeport.waitForLogLine('"listening"')
  const status = await homeport.run(['status', '--json'])
  expect([status.exitCode, JSON.parse(status.stdout).isReady]).toEqual([1, false])
  expect(JSON.parse(status.stdout).ready.storage).toBe('failing')
}, 30_000)

test('a server that cannot use its object store logs which setting to change, as doctor does', async () => {
  await using s3 = await startS3(ACCOUNT)
  await using homeport = await installExecutable()
  const { accessKeyId, secretAccessKey } = ACCOUNT
  const keys = { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey }
  const store = { ...keys, FILES_URL: `s3://wrong/p?endpoint=${s3.url}` }
  await homeport.launch({ ...store, PORT: '0' })
  const reason = 'NoSuchBucket Injected error NoSuchBucket: create the bucket, or correct FILES_URL'
  await homeport.waitForLogLine(reason)
  await homeport.waitForLogLine('"listening"')
  const { exitCode, stdout } = await homeport.run(['doctor'], store)
  expect([exitCode, stdout]).toEqual([1, expect.stringContaining(reason)])
}, 30_000)

/** Only root can change the owner of a file. */
const asRoot = test.skipIf(process.getuid?.() !== 0 || isOnPostgres)

asRoot(
  "a command on another user's data names the user to run it as",
  async () => {
    await using homeport = await installExecutable()
    const { run } = homeport
    await run(['init'])
    const dataDir = join(homeport.folder, 'data')
    const nobody = 65_534
    await chown(join(dataDir, 'homeport.db'), nobody, nobody)
    for (const command of [['status'], ['settings', 'get'], ['migrate', '--status']]) {
      const { exitCode, stderr } = await run(command)
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining('run this as nobody')])
    }
  },
  30_000,
)

asRoot(
  'a user who cannot access the data directory is told who owns it',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    await chmod(homeport.folder, 0o755)
    for (const args of [['status'], ['serve', '--port', '0']]) {
      const command = spawnAsNobody(homeport, args)
      expect([await command.exited, await command.stderr.text()]).toEqual([
        1,
        expect.stringContaining('chown -R'),
      ])
    }
  },
  30_000,
)

asRoot(
  'refuses to start for a user who cannot read .env',
  async () => {
    await using homeport = await installExecutable()
    await chmod(homeport.folder, 0o777)
    await Bun.write(join(homeport.folder, '.env'), 'SIGN_UP=off\n')
    await chmod(join(homeport.folder, '.env'), 0o600)
    const server = spawnAsNobody(homeport, ['serve', '--port', '0'])
    expect([await server.exited, await server.stderr.text()]).toEqual([
      78,
      expect.stringContaining('.env cannot be read'),
    ])
  },
  30_000,
)

test('refuses a .env file in which a part of a value would be lost', async () => {
  await using homeport = await installExecutable()
  await Bun.write(join(homeport.folder, '.env'), 'BACKUP_KEY=correct$horse-battery\n')
  const { exitCode, stderr } = await homeport.run(['serve'])
  expect([exitCode, stderr]).toEqual([78, expect.stringMatching(/BACKUP_KEY in .*: write "\\\$"/)])
  expect(stderr).not.toContain('horse')
}, 30_000)

test('commands ignore the .env of another project, and other files that frameworks load', async () => {
  await using homeport = await installExecutable()
  for (const name of ['.env.local', '.env.development', '.env.production'])
    await Bun.write(join(homeport.folder, name), 'LOG_LEVEL=verbose\n')
  const server = await homeport.start()
  const project = join(homeport.folder, 'project')
  await Bun.write(join(project, '.env'), 'LOG_LEVEL=verbose\nBACKUP_KEY=of another program\n')
  const run = (...args: string[]) => runIn(project, homeport, args)
  expect(await run('status')).toMatchObject({ exitCode: 0, stderr: '' })
  expect((await run('backup')).stdout).toContain('NOT encrypted')
  await server.stop()
  expect((await run('backup')).stdout).toContain('NOT encrypted')
}, 30_000)

test('commands read the .env of the server that uses their data', async () => {
  await using homeport = await installExecutable()
  const variables = 'DATA_DIR=elsewhere\nBACKUP_KEY="correct horse#battery"\n'
  await Bun.write(join(homeport.folder, '.env'), variables)
  expect((await homeport.run(['init'])).stdout).toContain('elsewhere is ready')
  await (await homeport.start()).stop()
  const encrypted = /encrypted with a passphrase \(fingerprint ([0-9a-f]{8})\)/
  const [, fingerprint] = encrypted.exec((await homeport.run(['backup'])).stdout) ?? []
  const project = join(homeport.folder, 'project')
  await Bun.write(join(project, '.env'), 'LOG_LEVEL=verbose\n')
  const backup = await runIn(project, homeport, ['backup', '--data-dir', '../elsewhere'])
  expect(encrypted.exec(backup.stdout)?.[1]).toBe(fingerprint as string)
}, 120_000)

/** Runs a command in a folder, on the data in `data` of the installation. */
async function runIn(
  cwd: string,
  { folder, environment }: Awaited<ReturnType<typeof installExecutable>>,
  args: string[],
) {
  const command = Bun.spawn([join(folder, 'homeport'), ...args], {
    cwd,
    env: { ...environment, DATA_DIR: join(folder, 'data') },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, exitCode] = await Promise.all([
    command.stdout.text(),
    command.stderr.text(),
    command.exited,
  ])
  return { stdout, stderr, exitCode }
}

/** Runs a command as a user without privileges, for at most five seconds. */
function spawnAsNobody({ folder }: { folder: string }, args: string[]) {
  return Bun.spawn([join(folder, 'homeport'), ...args], {
    cwd: folder,
    env: {},
    uid: 65_534,
    gid: 65_534,
    stdout: 'ignore',
    stderr: 'pipe',
    timeout: 5_000,
  })
}

test('an import that empties a catalogue needs confirmation, and the log says what was changed', async () => {
  await using homeport = await installExecutable()
  const { run } = homeport
  const server = await homeport.start()
  await Bun.write(join(homeport.folder, 'none.json'), '[]')
  const asked = await run(['plans', 'import', 'none.json'])
  expect([asked.exitCode, asked.stderr]).toEqual([2, expect.stringContaining('all 3 plans')])
  expect((await run(['faqs', 'import', 'none.json'])).exitCode).toBe(2)
  expect(JSON.parse((await run(['plans', 'list', '--json'])).stdout)).toHaveLength(3)
  expect((await run(['plans', 'import', 'none.json', '--yes'])).exitCode).toBe(0)
  expect(JSON.parse((await run(['plans', 'list', '--json'])).stdout)).toHaveLength(0)
  await run(['settings', 'set', 'ios.latestVersion=2.4.0'])
  await server.stop()
  const log = await Bun.file(join(homeport.folder, 'log')).text()
  expect(log).toContain('"command":"settings set","target":"version 2","ios.latestVersion":"2.4.0"')
}, 30_000)

test('a server under nohup outlives its terminal', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({}, ['sh', '-c', 'trap "" HUP; exec "$0" "$@"'])
  server.process.kill('SIGHUP')
  await simulateDelay(200)
  expect((await fetch(`${server.url}/ready`)).status).toBe(200)
  expect(await server.stop()).toBe(0)
}, 20_000)

test('the server opens a new log file when the current one is moved, and SIGHUP does not stop it', async () => {
  await using homeport = await installExecutable()
  const path = join(homeport.folder, 'server.log')
  const server = await homeport.start({ LOG_FILE: path })
  const askUntilLogged = async () => {
    const isLogged = async () => {
      await requesterFor(server)('GET', '/api/user/app_settings/v1')
      return (await readFile(path, 'utf8').catch(() => '')).includes('/app_settings/')
    }
    await until(isLogged, 'the log has no request line')
  }
  await askUntilLogged()
  await rename(path, `${path}.1`)
  server.process.kill('SIGHUP')
  await askUntilLogged()
  await rename(path, `${path}.2`)
  await askUntilLogged()
  expect(await server.stop()).toBe(0)
}, 30_000)

test('a server whose output is never read keeps answering, counts the lost lines, and can be stopped', async () => {
  await using homeport = await installExecutable()
  const pipe = join(homeport.folder, 'pipe')
  await Bun.$`mkfifo ${pipe}`
  const wrapper = ['sh', '-c', `exec "$0" "$@" 1<>${pipe}`]
  const server = await homeport.start({ METRICS_TOKEN: 'metrics-token' }, wrapper)
  const request = requesterFor(server)
  const headers = { authorization: 'Bearer metrics-token' }
  const hasDropped = async () => {
    for (let sent = 0; sent < 500; sent++) await request('GET', '/api/user/app_settings/v1')
    const metrics = await (await fetch(`${server.url}/metrics`, { headers })).text()
    return /^homeport_log_lines_dropped_total\S* [1-9]/m.test(metrics)
  }
  await until(hasDropped, 'no line was dropped', { deadlineMs: 30_000 })
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
  expect(await server.stop()).toBe(0)
}, 60_000)
