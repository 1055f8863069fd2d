import { expect, test } from 'bun:test'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { HOUR_MS } from '../../../src/lib/time/durations.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { filesOf, PATH, uploadBody, uploadForm } from '../../support/attachments.ts'
import { until } from '../../support/until.ts'

const MIB = 1024 * 1024

test('stalled uploads that declare more bytes than are free do not block others', async () => {
  await using app = await createTestApp(await withHeadroom(400 * MIB))
  const { accessToken: token } = await app.register()
  const server = listen(app)
  const stalled = await Promise.all(
    Array.from({ length: 36 }, () => stall(server, token, 25 * MIB)),
  )
  // The others wait for the user's share of bytes.
  await until(async () => (await filesOf(app)).length === 5, 'not 5 uploads are in flight')
  expect((await app.ask('GET', '/ready')).json.storage).toBe('ok')
  const other = await app.register()
  const reply = await uploadBody(app, other.accessToken, 'x', 'text/plain', 'supportTicket')
  expect(reply.status).toBe(200)
  for (const socket of stalled) socket.terminate()
  await server.stop(true)
})

test('space reserved for pending writes does not make the server unready', async () => {
  await using app = await createTestApp({ MIN_FREE_BYTES: '0' })
  const { space } = app.services
  // Shares of the disk, because other tests use it too.
  const { bavail, bsize } = await statfs(app.dataDir)
  const share = (part: number) => Math.round(bavail * bsize * part)
  await space.probe()
  using _first = await space.reserve(share(0.6))
  await expect(space.reserve(share(0.6))).rejects.toThrow('storage space')
  await expect(space.check(share(0.6))).rejects.toThrow('storage space')
  using _second = await space.reserve(share(0.2))
  await space.probe()
  expect((await app.ask('GET', '/ready')).json.storage).toBe('ok')
})

test('a user with 32 uploads in flight must wait for one to end; others need not', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const server = listen(app)
  const stalled = await Promise.all(Array.from({ length: 32 }, () => stall(server, token, 10)))
  const send = (as: string) => uploadBody(app, as, 'x', 'text/plain', 'supportTicket')
  await until(async () => (await filesOf(app)).length === 32, 'not 32 uploads are in flight')
  const replies = Array.from({ length: 33 }, () => send(token))
  const first = await Promise.race(replies)
  expect([first.status, first.json.code]).toEqual([503, 'unavailable'])
  const other = await app.register()
  expect((await send(other.accessToken)).status).toBe(200)
  for (const socket of stalled) socket.terminate()
  const statuses = (await Promise.all(replies)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(32)
  await server.stop(true)
})

test('uploads survive the clean-up of old files after the clock jumped hours ahead', async () => {
  await using app = await createTestApp()
  app.clock.advance(2 * HOUR_MS)
  const { accessToken: token } = await app.register()
  let isOver = false
  const cleaning = (async () => {
    while (!isOver) {
      await app.services.staging.sweep(app.clock.now)
      await app.services.orphans.collect(AbortSignal.timeout(5_000))
    }
  })()
  const names = Array.from({ length: 30 }, (_, at) => `${at}.txt`)
  const send = (name: string) => uploadForm(app, token, [[name, name]], { type: 'supportTicket' })
  const replies = await Promise.all(names.map(send))
  isOver = true
  await cleaning
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
  expect(await filesOf(app)).toHaveLength(names.length)
})

/** An environment that leaves this many bytes of disk space for uploads. */
async function withHeadroom(bytes: number) {
  const { bavail, bsize } = await statfs(tmpdir())
  return { MIN_FREE_BYTES: String(bavail * bsize - bytes) }
}

function listen(app: TestApp) {
  return app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
}

/** Starts an upload and sends only one of the declared bytes. */
async function stall({ port }: Bun.Server<unknown>, token: string, declared: number) {
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: port ?? 0,
    socket: { data() {} },
  })
  const head = `POST ${PATH}?type=supportTicket HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}`
  socket.write(`${head}\r\nContent-Type: text/plain\r\nContent-Length: ${declared}\r\n\r\nx`)
  return socket
}
