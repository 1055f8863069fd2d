import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { bodyOf, lifecycle } from '../support/billing.ts'
import { isOnPostgres, onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { heicOf } from '../support/heic.ts'
import { phonePhoto } from '../support/pictures.ts'
import {
  deliver,
  postJson,
  register,
  requesterFor,
  signIn,
  uploadText,
} from '../support/requests.ts'

beforeAll(buildExecutable, 60_000)

test('the executable alone in an empty folder answers all eleven endpoints', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const ask = requesterFor(server)
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
  if (!isOnPostgres)
    expect((await stat(join(homeport.folder, 'data', 'homeport.db-wal'))).size).toBe(0)
}, 30_000)

test('the executable decodes HEIC, and does not name the folder that it was built in', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const { accessToken } = await register(server, 'ann@example.com')
  const { status, body } = await requesterFor(server)(
    'POST',
    '/api/user/attachments/v1?type=publicAsset&targetType=webp',
    { headers: { authorization: `Bearer ${accessToken}` }, body: heicOf({ turns: 3 }) },
  )
  expect(status).toBe(200)
  const picture = await (await fetch(body.response[0].url)).arrayBuffer()
  expect(await sharp(picture).metadata()).toMatchObject({ format: 'webp', width: 256, height: 512 })
  await server.stop()
  const bytes = Buffer.from(await Bun.file(join(homeport.folder, 'homeport')).arrayBuffer())
  expect(bytes.indexOf(join(import.meta.dir, '../..'))).toBe(-1)
}, 30_000)

test('people sign in where native code cannot be unpacked, and the log says that it is slower', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ NATIVE_DIR: '/dev/null/native' })
  await register(server, 'ann@example.com')
  expect((await signIn(server, 'ann@example.com')).status).toBe(200)
  await homeport.waitForLogLine('hashes are made by Bun, which is slower')
})

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
  expect(events.length).toBeGreaterThan(20)
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

onSqlite('it looks into the file; test/instances kills there')(
  '83, 95: kill -9 during a flood of events, then everything again, ends in the same state',
  async () => {
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
  },
  60_000,
)

/** The folded state in the database of a server that has stopped. */
function stateIn(folder: string): unknown[] {
  using database = new Database(join(folder, 'data', 'homeport.db'), { readonly: true })
  return database.query('SELECT * FROM subscriptions ORDER BY line_key').all()
}
