import { expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestApp } from '../../support/app.ts'
import { filesOf, PATH, uploadForm } from '../../support/attachments.ts'
import { fault } from '../../support/fault.ts'
import { noise, phonePhoto } from '../../support/pictures.ts'
import { simulateDelay, until, yieldToEventLoop } from '../../support/until.ts'

test(`below the minimum free space, uploads get 507 and storage is reported as failing ${fault(7)}`, async () => {
  await using app = await createTestApp({ MIN_FREE_BYTES: String(2 ** 52) })
  const { accessToken: token } = await app.register()
  const reply = await uploadForm(app, token, [['a.txt', 'text']], { type: 'supportTicket' })
  expect([reply.status, reply.json.code]).toEqual([507, 'insufficient_storage'])
  expect((await app.ask('GET', '/ready')).json.storage).toBe('failing')
})

test(`a worker crash causes one 503, and the next image is processed ${fault(37)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const large = await noise(3_000, 2_200).jpeg({ quality: 90 }).toBuffer()
  const interrupted = uploadForm(app, token, [['a.jpg', large]], {
    type: 'publicAsset',
    targetType: 'webp',
  })
  await killWorker()
  const { status, headers } = await interrupted
  expect([status, headers.get('retry-after')]).toEqual([503, '5'])
  const next = await uploadForm(app, token, [['a.jpg', await phonePhoto()]], {
    type: 'publicAsset',
  })
  expect(next.status).toBe(200)
  expect(await filesOf(app)).toHaveLength(1)
}, 20_000)

test(`a client that disconnects during an upload leaves no files behind ${fault(116)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const server = app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  const head = (type: string) =>
    `POST ${PATH}?type=publicAsset HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${type}\r\nContent-Length: 2000000\r\n\r\n`
  const part = '--x\r\ncontent-disposition: form-data; name="f"; filename="a.jpg"\r\n\r\n'
  const starts = [head('multipart/form-data; boundary=x') + part, head('image/jpeg')]
  for (let round = 0; round < 20; round++) {
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: server.port ?? 0,
      socket: { data() {} },
    })
    socket.write(`${starts[round % 2]}${'y'.repeat(1_000 * round)}`)
    await simulateDelay(10)
    socket.terminate()
  }
  await until(async () => (await filesOf(app)).length === 0, 'files are left behind')
  Bun.gc(true)
  await yieldToEventLoop()
  expect(await filesOf(app)).toEqual([])
  expect((await app.ask('GET', '/api/user/profile/v1', { token })).status).toBe(200)
  await server.stop(true)
})

test(`refuses a form over 64 MiB, even without a Content-Length ${fault(39, 40)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const part = `--x\r\ncontent-disposition: form-data; name="f"; filename="a.txt"\r\n\r\n${'y'.repeat(2 ** 24)}\r\n`
  let sent = 0
  const body = new ReadableStream({
    pull(controller) {
      if (sent++ < 5) controller.enqueue(Buffer.from(part))
      else controller.close()
    },
  })
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  const reply = await app.ask('POST', `${PATH}?type=supportTicket`, { token, body, headers })
  expect([reply.status, reply.json.code]).toEqual([413, 'payload_too_large'])
  expect(await filesOf(app)).toEqual([])
})

test(`deletes files without a row after an hour, and logs rows without a file ${fault(117)}`, async () => {
  await using app = await createTestApp()
  app.expectErrors()
  const { accessToken: token } = await app.register()
  await uploadForm(app, token, [['a.txt', 'kept']], { type: 'supportTicket' })
  const [kept = ''] = await filesOf(app)
  const orphan = `${'0'.repeat(26)}.txt`
  await Bun.write(join(app.dataDir, 'files', '0', orphan), 'orphan')
  const collect = () => app.services.orphans.collect(AbortSignal.timeout(5_000))
  await collect()
  expect((await filesOf(app)).toSorted()).toEqual([orphan, kept].toSorted())
  app.clock.advance(61 * 60_000)
  await collect()
  expect(await filesOf(app)).toEqual([kept])
  // A variant alone is not the file.
  await Bun.write(join(app.dataDir, 'files', kept.slice(0, 1), `${kept}.w64.webp`), 'variant')
  await rm(join(app.dataDir, 'files', kept.slice(0, 1), kept))
  await collect()
  expect(app.lines.join('')).toContain('the file of an attachment is missing')
})

/** Kills this process's image worker shortly after it starts. */
async function killWorker() {
  const findWorker = () => {
    const { stdout } = Bun.spawnSync(['pgrep', '-P', String(process.pid), '-f', 'image-worker'])
    return Number(stdout.toString().split('\n')[0])
  }
  const pid = await until(findWorker, 'there is no image worker')
  await simulateDelay(300)
  process.kill(pid, 'SIGKILL')
}
