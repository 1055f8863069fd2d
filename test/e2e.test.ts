import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { chmod, readdir, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import sharp from 'sharp'
import { PASSWORD, WEBHOOK_TOKEN } from './support/app.ts'
import { bodyOf, lifecycle } from './support/billing.ts'
import { buildExecutable, installExecutable, type Server } from './support/executable.ts'
import { phonePhoto } from './support/pictures.ts'

beforeAll(buildExecutable, 60_000)

test('the executable alone in an empty folder answers all eleven endpoints', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const ask = asker(server)
  const session = await register(server, 'ann@example.com')
  const authorization = `Bearer ${session.accessToken}`

  const profile = await ask('GET', '/api/user/profile/v1', { headers: { authorization } })
  expect(profile.body.response.email).toBe('ann@example.com')
  const patched = await ask('PATCH', '/api/user/profile/v1', {
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ profile: { name: 'Ann' } }),
  })
  expect(patched.body.response.profile.name).toBe('Ann')

  const form = new FormData()
  form.append('photo', new Blob([await phonePhoto(4_000, 3_000)]), 'IMG_0001.JPG')
  const query = 'type=publicAsset&targetType=webp&compression=true'
  const uploaded = await ask('POST', `/api/user/attachments/v1?${query}`, {
    headers: { authorization },
    body: form,
  })
  const [record] = uploaded.body.response
  const picture = await (await fetch(record.url)).arrayBuffer()
  const made = await sharp(picture).metadata()
  expect(made).toMatchObject({ format: 'webp', width: 1_920, height: 2_560 })
  expect(made.exif).toBeUndefined()
  const details = await ask('GET', `/api/user/attachments/v1/download?key=${record.key}`, {
    headers: { authorization },
  })
  expect(details.body.response).toMatchObject({ width: 1_920, height: 2_560 })
  const head = await fetch(record.url, { method: 'HEAD' })
  expect(head.headers.get('content-length')).toBe(String(picture.byteLength))
  const part = await fetch(record.url, { headers: { range: 'bytes=0-3' } })
  expect([part.status, await part.text()]).toEqual([206, 'RIFF'])

  for (const name of ['app_settings', 'pricing_plans', 'currency_rates', 'content_version']) {
    const { status, body } = await ask('GET', `/api/user/${name}/v1`)
    expect([name, status, Object.keys(body)]).toEqual([name, 200, ['code', 'response']])
  }
  expect(await deliver(server, 'E1')).toEqual({ status: 200, code: 'ok' })
  expect(await deliver(server, 'E1')).toEqual({ status: 200, code: 'duplicate' })

  for (const path of [`/api/user/attachments/v1?key=${record.key}`, '/api/user/profile/v1']) {
    const gone = await ask('DELETE', path, { headers: { authorization } })
    expect([gone.status, Object.keys(gone.body)]).toEqual([200, ['code', 'message']])
  }
  expect((await ask('GET', '/docs')).status).toBe(200)
  expect((await ask('GET', '/docs/script.js')).status).toBe(200)
  expect((await ask('GET', '/health')).body).toEqual({ status: 'ok' })
  expect(await server.stop()).toBe(0)
  expect((await stat(join(homeport.folder, 'data', 'homeport.db-wal'))).size).toBe(0)
}, 30_000)

test('1: after kill -9 at any moment every acknowledged user, file and event is there', async () => {
  await using homeport = await installExecutable()
  const events: string[] = []
  const users: string[] = []
  const files: string[] = []
  for (let round = 0; round < 4; round++) {
    const server = await homeport.start({ LOG_LEVEL: 'warn' })
    const { accessToken } = await register(server, `u${round}@example.com`)
    users.push(`u${round}@example.com`)
    let alive = true
    const busy = Array.from({ length: 8 }, async (_, worker) => {
      for (let at = 0; alive && at < 100_000; at++) {
        const id = `${round}-${worker}-${at}`
        const reply = await deliver(server, id).catch(() => null)
        if (reply?.status === 200) events.push(id)
        if (at % 40 === 0) {
          const url = await uploadText(server, accessToken, id).catch(() => null)
          if (url) files.push(url.slice(url.indexOf('/files/')))
        }
      }
    })
    await Bun.sleep(150 + Math.random() * 350)
    server.process.kill('SIGKILL')
    await server.process.exited
    alive = false
    await Promise.all(busy)
  }
  const server = await homeport.start({ LOG_LEVEL: 'warn' })
  expect(events.length).toBeGreaterThan(100)
  const { stdout } = await homeport.run(['events', 'list', '--limit', '999999', '--json'])
  const kept = new Set(JSON.parse(stdout).map(({ eventId }: { eventId: string }) => eventId))
  expect(events.filter((id) => !kept.has(id))).toEqual([])
  for (const email of users) expect((await signIn(server, email)).status).toBe(200)
  expect(files.length).toBeGreaterThan(4)
  for (const path of files) {
    const reply = await fetch(server.url + path)
    expect([path, reply.status, (await reply.text()).length]).toEqual([path, 200, 200])
  }
  await server.stop()
}, 60_000)

test('83, 95: kill -9 during a flood of events, then everything again, ends in the same state', async () => {
  await using homeport = await installExecutable()
  const told = Array.from({ length: 400 }, (_, at) => {
    const user = `user-${at % 20}`
    const fields = {
      original_transaction_id: `t-${at % 20}`,
      purchased_day: at / 40,
      expiration_day: at / 40 + 30,
    }
    const types = ['INITIAL_PURCHASE', 'RENEWAL', 'CANCELLATION', 'EXPIRATION', 'BILLING_ISSUE']
    const type = types[at % types.length] ?? ''
    return bodyOf({ ...lifecycle(user, type, at / 40, fields), id: `flood-${at}` })
  })
  const shuffled = told.toSorted((a, b) =>
    Bun.hash(JSON.stringify(a)) < Bun.hash(JSON.stringify(b)) ? -1 : 1,
  )
  const post = (server: Server, body: unknown) =>
    postJson(server, '/api/webhooks/billing/v1', body, WEBHOOK_TOKEN).then(({ status }) => status)
  for (let round = 0; round < 3; round++) {
    const server = await homeport.start({ LOG_LEVEL: 'warn' })
    const flood = Promise.all(shuffled.map((body) => post(server, body).catch(() => 0)))
    await Bun.sleep(20 + Math.random() * 60)
    server.process.kill('SIGKILL')
    await flood
  }
  const server = await homeport.start({ LOG_LEVEL: 'warn' })
  for (const body of shuffled) expect(await post(server, body)).toBe(200)
  const report = JSON.parse((await homeport.run(['events', 'rebuild', '--json'])).stdout)
  expect(report).toMatchObject({ events: 400, lines: 20, changed: [] })
  await server.stop()

  await using inOrder = await installExecutable()
  const calm = await inOrder.start({ LOG_LEVEL: 'warn' })
  for (const body of told) expect(await post(calm, body)).toBe(200)
  await calm.stop()
  expect(stateIn(homeport.folder)).toEqual(stateIn(inOrder.folder))
}, 60_000)

test('commands are carried out by the running server, and without one all the same', async () => {
  await using homeport = await installExecutable()
  const { run } = homeport
  expect(await run(['init'])).toMatchObject({ exitCode: 0 })
  expect((await run(['settings', 'set', 'hardPaywall=true'])).exitCode).toBe(0)
  const server = await homeport.start()
  const setting = async () =>
    (await asker(server)('GET', '/api/user/app_settings/v1')).body.response
  expect((await setting()).hardPaywall).toBe(true)
  const set = await run(['settings', 'set', 'hardPaywall=false', 'ios.latestVersion=2.4.0'])
  expect(set).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await setting()).toMatchObject({ hardPaywall: false, ios: { latestVersion: '2.4.0' } })

  const get = await run(['settings', 'get', 'ios.latestVersion', '--json'])
  expect(JSON.parse(get.stdout)).toEqual({ 'ios.latestVersion': '2.4.0' })
  const wrong = await run(['settings', 'set', 'ios.latestVersion=two'])
  expect(wrong.exitCode).toBe(1)
  expect(wrong.stderr).toContain('settings.ios.latestVersion: must be a version such as 2.4.0')

  const exported = await run(['plans', 'export'])
  await Bun.write(join(homeport.folder, 'plans.json'), exported.stdout)
  expect((await run(['plans', 'import', 'plans.json'])).stdout).toBe('Imported 3, archived 0.\n')
  await deliver(server, 'E1')
  expect((await run(['events', 'list'])).stdout).toContain('E1')
  expect(JSON.parse((await run(['events', 'show', 'E1', '--json'])).stdout).type).toBe('RENEWAL')
  expect(JSON.parse((await run(['openapi'])).stdout).openapi).toBe('3.0.3')
  expect((await run(['rates', 'show'])).stdout).toStartWith('1 USD, published 2026-07-06')
  expect((await run(['migrate', '--status'])).stdout).toContain('up to date')
  expect((await run(['health'], { PORT: String(server.port) })).exitCode).toBe(0)
  expect((await run(['health'], { PORT: '1' })).exitCode).toBe(1)
  expect((await run(['version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  await server.stop()
}, 30_000)

test('78: the socket is for its owner alone and survives garbage', async () => {
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

test('a data directory of a hundred characters has its socket elsewhere, and commands find it', async () => {
  await using homeport = await installExecutable()
  const DATA_DIR = join(homeport.folder, 'd'.repeat(100), 'data')
  const server = await homeport.start({ DATA_DIR })
  const set = await homeport.run(['settings', 'set', 'hardPaywall=true'], { DATA_DIR })
  expect(set).toMatchObject({ exitCode: 0, stderr: '' })
  const settings = await asker(server)('GET', '/api/user/app_settings/v1')
  expect(settings.body.response.hardPaywall).toBe(true)
  await server.stop()
}, 30_000)

test('what is typed wrongly or cannot be done is said in a sentence, with its exit code', async () => {
  await using homeport = await installExecutable()
  const { run } = homeport
  const fails = async (args: string[], environment: Record<string, string> = {}) => {
    const { stderr, exitCode } = await run(args, environment)
    expect(stderr).not.toContain('    at ')
    return [exitCode, stderr.trim()]
  }
  expect((await fails(['nonsense']))[0]).toBe(2)
  expect((await fails(['settings', 'set']))[0]).toBe(2)
  expect(await fails(['settings', 'set', 'x'])).toEqual([2, 'Write x as key=value.'])
  expect(await fails(['plans', 'import', 'none.json'])).toEqual([2, 'none.json cannot be read.'])
  expect(await fails(['events', 'show', 'none'])).toEqual([1, 'There is no event none.'])
  expect(await fails(['serve'], { PORT: 'x', RATES_BASE: 'x' })).toEqual([
    78,
    'PORT must be a port from 0 to 65535\nRATES_BASE must be an ISO 4217 code such as USD',
  ])
  expect((await fails(['rates', 'refresh'], { RATES_URL: 'http://127.0.0.1:1/' }))[0]).toBe(1)
}, 30_000)

test('9, 12, 15, 26: a data directory that must not be used is refused with one clear line', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const refused = async () => {
    const { exitCode, stderr } = await homeport.run(['serve'], { PORT: '0' })
    expect(stderr.trim().split('\n')).toHaveLength(1)
    return [exitCode, stderr]
  }
  expect(await refused()).toEqual([1, expect.stringContaining('another homeport is using')])
  await server.stop()
  const inUse = await homeport.start()
  const port = { PORT: String(inUse.port), DATA_DIR: join(homeport.folder, 'other') }
  const second = await homeport.run(['serve'], { ...port, HOST: '127.0.0.1' })
  expect([second.exitCode, second.stderr]).toEqual([1, expect.stringContaining('is in use')])
  await inUse.stop()

  const database = join(homeport.folder, 'data', 'homeport.db')
  await Bun.write(database, '')
  expect(await refused()).toEqual([1, expect.stringContaining('missing or empty')])
  expect((await stat(database)).size).toBe(0)
  await rm(database)
  expect(await refused()).toEqual([1, expect.stringContaining('missing or empty')])
  await Bun.write(database, 'garbage '.repeat(1_000))
  expect(await refused()).toEqual([1, expect.stringContaining('damaged')])
}, 30_000)

test('11: a damaged page is found after the start, and the server stops with an error', async () => {
  await using homeport = await installExecutable()
  await (await homeport.start()).stop()
  const database = join(homeport.folder, 'data', 'homeport.db')
  const bytes = await Bun.file(database).bytes()
  // The second page of the file is a table's first one.
  bytes.fill(0xff, 4_096, 4_096 + 64)
  await Bun.write(database, bytes)
  const damaged = await homeport.run(['serve'], { PORT: '0', RATES_PROVIDER: 'off' })
  expect(damaged.exitCode).toBe(1)
  expect(damaged.stdout).toContain('the database is damaged')
}, 30_000)

test('28, 29: told to stop, it finishes what is in flight; a stuck client is cut after 10 s', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const { accessToken } = await register(server, 'ann@example.com')
  const form = new FormData()
  form.append('photo', new Blob([await phonePhoto(4_000, 3_000)]), 'a.jpg')
  const upload = fetch(`${server.url}/api/user/attachments/v1?type=publicAsset&targetType=webp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${accessToken}` },
    body: form,
  })
  await Bun.sleep(300)
  const stopped = server.stop()
  expect((await upload).status).toBe(200)
  expect(await stopped).toBe(0)

  const again = await homeport.start()
  const stuck = connect(again.port, '127.0.0.1')
  stuck.on('error', () => {})
  stuck.write(
    'POST /api/auth/login/v1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
  )
  await Bun.sleep(200)
  const start = performance.now()
  expect(await again.stop()).toBe(0)
  expect(performance.now() - start).toBeLessThan(12_000)
  stuck.destroy()
}, 40_000)

test('36: a damaged image library is found by its hash and unpacked anew', async () => {
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

test('what lies in the data directory is readable by its owner alone', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const { accessToken } = await register(server, 'ann@example.com')
  await uploadText(server, accessToken, 'x')
  const data = join(homeport.folder, 'data')
  for (const name of await readdir(data, { recursive: true })) {
    const { mode } = await stat(join(data, name))
    expect([name, (mode & 0o077).toString(8)]).toEqual([name, '0'])
  }
  await server.stop()
}, 30_000)

/** The folded state in the database of a server that has stopped. */
function stateIn(folder: string): unknown[] {
  using database = new Database(join(folder, 'data', 'homeport.db'), { readonly: true })
  return database.query('SELECT * FROM subscriptions ORDER BY line_key').all()
}

function asker({ url }: Server) {
  return async (method: string, path: string, init: RequestInit = {}) => {
    const reply = await fetch(url + path, { ...init, method })
    const isJson = reply.headers.get('content-type')?.startsWith('application/json')
    // biome-ignore lint/suspicious/noExplicitAny: replies of every shape
    const body: any = isJson ? await reply.json() : await reply.text()
    return { status: reply.status, body }
  }
}

async function register(server: Server, email: string) {
  const reply = await postJson(server, '/api/auth/register/v1', { email, password: PASSWORD })
  const { response } = (await reply.json()) as { response: { accessToken: string } }
  return response
}

function signIn(server: Server, email: string) {
  return postJson(server, '/api/auth/login/v1', { email, password: PASSWORD })
}

async function deliver(server: Server, id: string) {
  const event = { id, type: 'RENEWAL', event_timestamp_ms: 1_783_000_000_000 }
  const reply = await postJson(server, '/api/webhooks/billing/v1', { event }, WEBHOOK_TOKEN)
  const { code } = (await reply.json()) as { code: string }
  return { status: reply.status, code }
}

/** Uploads 200 characters and answers the URL of the file. */
async function uploadText(server: Server, token: string, id: string): Promise<string> {
  const reply = await fetch(`${server.url}/api/user/attachments/v1?type=supportTicket`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: id.padEnd(200, '.'),
  })
  const { response } = (await reply.json()) as { response: { url: string }[] }
  return response[0]?.url ?? ''
}

function postJson({ url }: Server, path: string, body: unknown, token = '') {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  })
}
