import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { chmod, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { phonePhoto } from '../support/pictures.ts'
import { deliver, register, requesterFor, uploadText } from '../support/requests.ts'
import { simulateDelay } from '../support/until.ts'

beforeAll(buildExecutable, 300_000)

test('commands run inside the server process, or in their own process if no server is running', async () => {
  await using homeport = await installExecutable()
  const { run } = homeport
  expect(await run(['init'])).toMatchObject({ exitCode: 0 })
  expect((await run(['settings', 'set', 'hardPaywall=true'])).exitCode).toBe(0)
  const server = await homeport.start()
  const getSettings = async () =>
    (await requesterFor(server)('GET', '/api/user/app_settings/v1')).body.response
  expect((await getSettings()).hardPaywall).toBe(true)
  const set = await run(['settings', 'set', 'hardPaywall=false', 'ios.latestVersion=2.4.0'])
  expect(set).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await getSettings()).toMatchObject({ hardPaywall: false, ios: { latestVersion: '2.4.0' } })

  const get = await run(['settings', 'get', 'ios.latestVersion', '--json'])
  expect(JSON.parse(get.stdout)).toEqual({ 'ios.latestVersion': '2.4.0' })
  const wrong = await run(['settings', 'set', 'ios.latestVersion=two'])
  expect(wrong.exitCode).toBe(1)
  expect(wrong.stderr).toContain('settings.ios.latestVersion: must be a version such as 2.4.0')

  await Bun.write(join(homeport.folder, 'plans.json'), (await run(['plans', 'export'])).stdout)
  expect((await run(['plans', 'import', 'plans.json'])).stdout).toBe('Imported 3, archived 0.\n')
  await deliver(server, 'E1')
  expect((await run(['events', 'list'])).stdout).toContain('E1')
  expect((await run(['events', 'show', 'E1', '--json'])).stdout).toContain('"SUBSCRIBER_ALIAS"')
  expect(JSON.parse((await run(['openapi'])).stdout).openapi).toBe('3.0.3')
  expect((await run(['rates', 'show'])).stdout).toStartWith('1 USD, published 2026-07-06')
  expect((await run(['migrate', '--status'])).stdout).toContain('up to date')
  const schema = JSON.parse((await run(['migrate', '--status', '--json'])).stdout)
  expect([schema.pending, schema.known.length]).toEqual([[], schema.applied])
  expect((await run(['health'], { PORT: '1' })).exitCode).toBe(0)
  expect((await run(['health'], { DATA_DIR: 'elsewhere' })).exitCode).toBe(1)
  expect((await run(['version'])).stdout).toMatch(
    /^\d+\.\d+\.\d+ \([0-9a-f]{12}(-modified)?, \d{4}-\d{2}-\d{2}\)\n$/,
  )
  await server.stop()
}, 30_000)

test(`only the owner can use the socket, and garbage does not stop the server ${fault(78)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const unix = join(homeport.folder, 'data', 'homeport.sock')
  expect(((await stat(unix)).mode & 0o777).toString(8)).toBe('600')
  const send = async (path: string, body: string) => {
    const reply = await fetch(`http://localhost${path}`, { unix, method: 'POST', body })
    return [reply.status, reply.headers.get('content-type')?.startsWith('application/json')]
  }
  for (const [path, body] of [
    ['/', ''],
    ['/%zz', 'x'],
    ['/settings%20set', 'not json'],
    ['/settings%20set', '[['],
    ['/settings%20set', '{"x":"y"}'],
    ['/serve', '{}'],
  ] as const) {
    expect([path, ...(await send(path, body))]).toEqual([path, 200, true])
  }
  const huge = await fetch('http://localhost/init', {
    unix,
    method: 'POST',
    body: 'x'.repeat(2 ** 25),
  })
  expect(huge.status).toBe(413)
  expect((await homeport.run(['settings', 'get', 'hardPaywall'])).stdout).toBe(
    'hardPaywall=false\n',
  )
  await server.stop()
}, 30_000)

test('commands find the socket in a data directory whose path is over a hundred characters long', async () => {
  await using homeport = await installExecutable()
  const DATA_DIR = join(homeport.folder, 'd'.repeat(100), 'data')
  const server = await homeport.start({ DATA_DIR })
  const set = await homeport.run(['settings', 'set', 'hardPaywall=true'], { DATA_DIR })
  expect(set).toMatchObject({ exitCode: 0, stderr: '' })
  const settings = await requesterFor(server)('GET', '/api/user/app_settings/v1')
  expect(settings.body.response.hardPaywall).toBe(true)
  expect(((await stat(join(DATA_DIR, 'homeport.sock'))).mode & 0o777).toString(8)).toBe('600')
  expect((await homeport.run(['restart'], { DATA_DIR })).exitCode).toBe(0)
  const { pid } = JSON.parse((await homeport.run(['restart', '--json'], { DATA_DIR })).stdout)
  process.kill(pid, 'SIGTERM')
  expect(await server.stop()).toBe(0)
}, 30_000)

onSqlite('an empty data directory is not an error on PostgreSQL')(
  'reports usage errors and failures in one sentence with an exit code',
  async () => {
    await using homeport = await installExecutable()
    const { run } = homeport
    const fails = async (args: string[], environment: Record<string, string> = {}) => {
      const { stderr, exitCode } = await run(args, environment)
      expect(stderr).not.toContain('    at ')
      return [exitCode, stderr.trim()]
    }
    expect(await fails(['nonsense'])).toEqual([
      2,
      'There is no command nonsense: "homeport help" lists them.',
    ])
    expect(await fails(['settings', 'reset'])).toEqual([
      2,
      'There is no command settings reset: use one of get, export, explain, publish, rollback, set, unset.',
    ])
    expect(await fails(['status'])).toEqual([1, expect.stringContaining('set DATA_DIR')])
    expect((await readdir(homeport.folder)).toSorted()).toEqual(['homeport'])
    expect(await fails(['serve'], { HOST: '203.0.113.1' })).toEqual([
      1,
      expect.stringContaining('is not an address of this machine'),
    ])
    expect((await fails(['settings', 'set']))[0]).toBe(2)
    expect(await fails(['settings', 'set', 'x'])).toEqual([2, 'Write x as key=value.'])
    expect(await fails(['plans', 'import', 'none.json'])).toEqual([2, 'none.json cannot be read.'])
    expect(await fails(['events', 'show', 'none'])).toEqual([1, 'There is no event none.'])
    expect(await fails(['user', 'subscription', 'nobody'])).toEqual([
      1,
      'There is no user nobody, and no billing event names that id.',
    ])
    expect(await fails(['serve'], { PORT: 'x', RATES_BASE: 'x' })).toEqual([
      78,
      'PORT must be a port from 0 to 65535\nRATES_BASE must be an ISO 4217 code such as USD',
    ])
    expect((await fails(['rates', 'refresh'], { RATES_URL: 'http://127.0.0.1:1/' }))[0]).toBe(1)
  },
  30_000,
)

onSqlite('it damages or inspects the database file')(
  `an unusable data directory is refused with one clear line ${fault(9, 12, 15, 26)}`,
  async () => {
    await using homeport = await installExecutable()
    const server = await homeport.start()
    const runServe = async () => {
      const { exitCode, stderr } = await homeport.run(['serve'], { PORT: '0' })
      expect(stderr.trim().split('\n')).toHaveLength(1)
      return [exitCode, stderr]
    }
    expect(await runServe()).toEqual([1, expect.stringContaining('Another Homeport process')])
    await server.stop()
    const inUse = await homeport.start()
    const port = { PORT: String(inUse.port), DATA_DIR: join(homeport.folder, 'other') }
    const second = await homeport.run(['serve'], { ...port, HOST: '127.0.0.1' })
    expect([second.exitCode, second.stderr]).toEqual([1, expect.stringContaining('is in use')])
    await inUse.stop()

    const database = join(homeport.folder, 'data', 'homeport.db')
    await Bun.write(database, '')
    expect(await runServe()).toEqual([1, expect.stringContaining('missing or empty')])
    expect((await stat(database)).size).toBe(0)
    await rm(database)
    expect(await runServe()).toEqual([1, expect.stringContaining('missing or empty')])
    await Bun.write(database, 'garbage '.repeat(1_000))
    expect(await runServe()).toEqual([1, expect.stringContaining('damaged')])
  },
  30_000,
)

onSqlite('it damages or inspects the database file')(
  `a damaged page is detected after startup, and the server stops with an error ${fault(11)}`,
  async () => {
    await using homeport = await installExecutable()
    await (await homeport.start()).stop()
    const database = join(homeport.folder, 'data', 'homeport.db')
    const bytes = await Bun.file(database).bytes()
    // The second page of the file is the first page of a table.
    bytes.fill(0xff, 4_096, 4_096 + 64)
    await Bun.write(database, bytes)
    const damaged = await homeport.run(['serve'], { PORT: '0', RATES_PROVIDER: 'off' })
    expect([damaged.exitCode, damaged.stdout]).toEqual([1, expect.stringContaining('is damaged')])
  },
  30_000,
)

test(`a stopping server finishes running requests ${fault(28)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const { accessToken } = await register(server, 'ann@example.com')
  const form = new FormData()
  form.append('photo', new Blob([await phonePhoto(2_400, 1_800)]), 'a.jpg')
  const upload = fetch(`${server.url}/api/user/attachments/v1?type=publicAsset&targetType=webp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${accessToken}` },
    body: form,
  })
  await simulateDelay(300)
  const stopped = server.stop()
  expect((await upload).status).toBe(200)
  expect(await stopped).toBe(0)
}, 40_000)

test(`a damaged image library is detected by its hash and unpacked again ${fault(36)}`, async () => {
  await using homeport = await installExecutable()
  const uploadPhoto = async (server: Server, email: string) => {
    const { accessToken } = await register(server, email)
    const reply = await fetch(`${server.url}/api/user/attachments/v1?type=publicAsset`, {
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'image/jpeg' },
      body: await phonePhoto(),
    })
    return reply.status
  }
  const first = await homeport.start()
  expect(await uploadPhoto(first, 'a@example.com')).toBe(200)
  await first.stop()
  const native = join(homeport.folder, 'data', 'native')
  const names = await readdir(native, { recursive: true })
  const library = join(native, names.find((name) => name.includes('libvips-cpp.so')) ?? '')
  await chmod(library, 0o700)
  const bytes = await Bun.file(library).bytes()
  bytes.fill(0x58, 5_000, 5_064)
  await Bun.write(library, bytes)
  const second = await homeport.start()
  expect(await uploadPhoto(second, 'b@example.com')).toBe(200)
  await second.stop()
}, 30_000)

test('everything in the data directory is readable only by its owner', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const { accessToken } = await register(server, 'ann@example.com')
  await uploadText(server, accessToken, 'x')
  const data = join(homeport.folder, 'data')
  for (const name of await readdir(data, { recursive: true })) {
    // An e-mail may be renamed while it is written to the outbox.
    const found = await stat(join(data, name)).catch(() => null)
    if (found === null) continue
    const { mode } = found
    expect([name, (mode & 0o077).toString(8)]).toEqual([name, '0'])
  }
  await server.stop()
}, 30_000)

onSqlite('PostgreSQL has no such lock')(
  'reports that another program has locked the database, without advising a restore',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    using client = new Database(join(homeport.folder, 'data', 'homeport.db'))
    client.run('PRAGMA locking_mode = EXCLUSIVE')
    client.run('BEGIN EXCLUSIVE')
    const { exitCode, stderr } = await homeport.run(['user', 'list'])
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('Another program has locked')])
    expect(stderr).not.toContain('backup')
  },
  30_000,
)

onSqlite('PostgreSQL has no such lock')(
  'a server starts while the previous server is still closing the database',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    using client = new Database(join(homeport.folder, 'data', 'homeport.db'))
    client.run('PRAGMA locking_mode = EXCLUSIVE')
    client.run('BEGIN EXCLUSIVE')
    const starting = homeport.start()
    await simulateDelay(1_000)
    client.close()
    expect(await (await starting).stop()).toBe(0)
  },
  30_000,
)

onSqlite('the data is on PostgreSQL already')(
  'data that was moved to a database server is neither backed up nor replaced by a restore',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    const backup = ['backup', '--out', 'before.tar', '--unencrypted']
    expect((await homeport.run(backup)).exitCode).toBe(0)
    await Bun.write(join(homeport.folder, 'data', 'moved-to.txt'), 'db.example.com\n')
    for (const args of [backup, ['restore', 'before.tar', '--trust', '--yes']]) {
      const { exitCode, stderr } = await homeport.run([...args, '--yes'])
      expect([exitCode, stderr]).toEqual([
        1,
        expect.stringContaining('was moved to db.example.com'),
      ])
    }
  },
  30_000,
)

test('a JSON file in another encoding is refused', async () => {
  await using homeport = await installExecutable()
  await homeport.run(['init'])
  await Bun.write(join(homeport.folder, 'faqs.json'), Buffer.from('["Gr\u00fc\u00dfe"]', 'latin1'))
  const { exitCode, stderr } = await homeport.run(['faqs', 'import', 'faqs.json'])
  expect([exitCode, stderr]).toEqual([2, 'faqs.json is not UTF-8: save it in that encoding.\n'])
}, 30_000)
