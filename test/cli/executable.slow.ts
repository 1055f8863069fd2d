import { beforeAll, expect, test } from 'bun:test'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { isOnPostgres } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { heicOf } from '../support/heic.ts'
import { phonePhoto } from '../support/pictures.ts'
import { deliver, register, requesterFor, signIn } from '../support/requests.ts'

beforeAll(buildExecutable, 300_000)

test('the build leaves no source maps beside the executable', async () => {
  const folder = join(import.meta.dir, '..', '..', 'dist', 'test')
  expect((await readdir(folder)).filter((name) => name.endsWith('.map'))).toEqual([])
})

test('the executable serves the main endpoints from an otherwise empty directory', async () => {
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
  const image = await (await fetch(record.url)).arrayBuffer()
  const made = await sharp(image).metadata()
  expect(made).toMatchObject({ format: 'webp', width: 1_920, height: 2_560 })
  expect(made.exif).toBeUndefined()
  const details = await ask('GET', `/api/user/attachments/v1/download?key=${record.key}`, {
    headers: { authorization },
  })
  expect(details.body.response).toMatchObject({ width: 1_920, height: 2_560 })
  const head = await fetch(record.url, { method: 'HEAD' })
  expect(head.headers.get('content-length')).toBe(String(image.byteLength))
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
  // Reads in another thread, whose code the executable must find.
  expect((await homeport.run(['events', 'list'])).stdout).toContain('E1')
  const log = await Bun.file(join(homeport.folder, 'log')).text()
  expect(log).not.toContain('has failed')
  expect(await server.stop()).toBe(0)
  if (!isOnPostgres)
    expect((await stat(join(homeport.folder, 'data', 'homeport.db-wal'))).size).toBe(0)
}, 30_000)

test('the executable decodes HEIC and does not contain the path of its build directory', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const { accessToken } = await register(server, 'ann@example.com')
  const { status, body } = await requesterFor(server)(
    'POST',
    '/api/user/attachments/v1?type=publicAsset&targetType=webp',
    { headers: { authorization: `Bearer ${accessToken}` }, body: heicOf({ turns: 3 }) },
  )
  expect(status).toBe(200)
  const image = await (await fetch(body.response[0].url)).arrayBuffer()
  expect(await sharp(image).metadata()).toMatchObject({ format: 'webp', width: 256, height: 512 })
  await server.stop()
  const bytes = Buffer.from(await Bun.file(join(homeport.folder, 'homeport')).arrayBuffer())
  expect(bytes.indexOf(join(import.meta.dir, '../..'))).toBe(-1)
}, 30_000)

test('users can sign in even if native code cannot be unpacked, and the log warns of slower hashing', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ NATIVE_DIR: '/dev/null/native' })
  await register(server, 'ann@example.com')
  expect((await signIn(server, 'ann@example.com')).status).toBe(200)
  await homeport.waitForLogLine('the argon2 addon cannot be loaded')
})
