import { afterEach, beforeEach, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { filesOf, PATH } from '../../support/attachments.ts'
import { simulateDelay, until } from '../../support/until.ts'

const MIB = 1024 * 1024
const PACKET = 64 * 1024
const FORM = 'multipart/form-data; boundary=x'
const END = '--x--\r\n'
const unhandled: unknown[] = []
const collect = (reason: unknown) => unhandled.push(reason)

beforeEach(() => void process.on('unhandledRejection', collect))
afterEach(() => void process.off('unhandledRejection', collect))

/** `[what, query, content type, body, status]`; without a status, the client closes the connection in the middle. */
const ENDS: [string, string, string, string, number | null][] = [
  ['is stored', 'supportTicket', FORM, file(2 * MIB) + END, 200],
  ['has a file over the limit', 'supportTicket', FORM, file(26 * MIB) + END, 413],
  ['has a second file over the limit', 'supportTicket', FORM, file(9) + file(26 * MIB) + END, 413],
  ['has a raw body over the limit', 'supportTicket', 'text/plain', 'a'.repeat(26 * MIB), 413],
  ['is over the limit of forms', 'supportTicket', FORM, file(22 * MIB).repeat(3) + END, 413],
  ['has the wrong type', 'publicAsset', FORM, file(2 * MIB) + END, 415],
  ['has too many files', 'supportTicket', FORM, file(100_000).repeat(12) + END, 422],
  ['has no file', 'supportTicket', FORM, END, 422],
  ['is not a form', 'supportTicket', FORM, 'a'.repeat(MIB), 400],
  ['ends within a part', 'supportTicket', FORM, file(MIB), 400],
  ['ends within the head of a part', 'supportTicket', FORM, file(MIB) + file(1).slice(0, 20), 400],
  ['has no boundary', 'supportTicket', 'multipart/form-data', file(MIB) + END, 400],
  ['has an unknown transfer encoding', 'supportTicket', FORM, file(MIB, 'gzip') + END, 415],
  ['is aborted within a part', 'supportTicket', FORM, file(2 * MIB), null],
  ['is aborted within a raw body', 'supportTicket', 'text/plain', 'a'.repeat(MIB), null],
]

for (const [what, type, contentType, body, status] of ENDS) {
  test(`leaves no rejection unhandled and no file behind when an upload ${what}`, async () => {
    await using app = await createTestApp()
    const { accessToken } = await app.register()
    await expectCleanEnd(app, { token: accessToken, type, contentType, body, status })
  }, 20_000)
}

test.each([
  ['the disk is full', { MIN_FREE_BYTES: String(2 ** 52) }, 507],
  ['the quota is used up', { ATTACHMENT_QUOTA_BYTES: '10' }, 403],
  ['the sender is not signed in', {}, 401],
])('leaves no rejection unhandled when %s', async (_what, environment, status) => {
  await using app = await createTestApp(environment)
  const { accessToken } = await app.register()
  const token = status === 401 ? 'none' : accessToken
  const upload = { token, type: 'supportTicket', contentType: FORM, body: file(2 * MIB) + END }
  await expectCleanEnd(app, { ...upload, status })
})

type Sent = {
  token: string
  type: string
  contentType: string
  body: string
  status: number | null
}

/** Sends an upload, with its end at network speed. */
async function expectCleanEnd(app: TestApp, { token, type, contentType, body, status }: Sent) {
  const server = app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  const socket = connect(server.port ?? 0, '127.0.0.1')
  let reply = ''
  socket.on('error', () => {})
  const answered = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      reply += chunk
      resolve()
    })
    socket.on('close', () => resolve())
  })
  const announced = status === null ? body.length + 9 : body.length
  socket.write(
    `POST ${PATH}?type=${type} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${contentType}\r\nContent-Length: ${announced}\r\n\r\n`,
  )
  const content = Buffer.from(body)
  const fast = Math.max(0, content.length - 20 * PACKET)
  await new Promise((resolve) => socket.write(content.subarray(0, fast), resolve))
  for (let at = fast; at < content.length; at += PACKET) {
    socket.write(content.subarray(at, at + PACKET))
    await simulateDelay(3)
  }
  if (status === null) socket.destroy()
  await answered
  if (status !== null) expect(reply.slice(0, 12)).toBe(`HTTP/1.1 ${status}`)
  socket.destroy()
  const expected = status === 200 ? 1 : 0
  await until(async () => (await filesOf(app)).length === expected, 'the file count is wrong')
  await server.stop(true)
  expect(unhandled.splice(0)).toEqual([])
}

function file(size: number, encoding = 'binary'): string {
  return `--x\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${'a'.repeat(size)}\r\n`
}
