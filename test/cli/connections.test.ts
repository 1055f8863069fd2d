import { expect, test } from 'bun:test'
import { openConnection } from '../support/raw-request.ts'
import { serveBehindSocket } from '../support/served.ts'
import { until } from '../support/until.ts'

test.each(['100-continue', '100-Continue', '100-CONTINUE'])(
  'a client that expects %s is told to send its body',
  async (expected) => {
    await using served = await serveBehindSocket({ idleTimeout: 1 })
    const client = await openConnection(served.port)
    const body = '{"profile":{"name":"Ann"}}'
    client.write(
      `PATCH /api/user/profile/v1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${served.token}\r\nExpect: ${expected}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    await until(() => client.received().includes('\r\n\r\n'), 'no reply')
    expect(client.received()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    client.write(body)
    await until(() => client.received().includes('"Ann"'), 'no second reply')
    expect(client.received()).toContain('HTTP/1.1 200 OK')
    client.socket.destroy()
  },
)

test('a connection stays open beyond the idle timeout, unless its response announced that it closes', async () => {
  await using served = await serveBehindSocket({ idleTimeout: 1 })
  const authorization = `Authorization: Bearer ${served.token}\r\n`
  const json = '{"profile":{"name":"Ann"}}'
  const chunked = `${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n`
  const requests = [
    `PATCH /api/user/profile/v1 HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`,
    'POST /api/auth/login/v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n',
    'POST /nothing HTTP/1.1\r\nHost: x\r\n\r\n',
    'DELETE /api/user/attachments/v1?key=a HTTP/1.1\r\nHost: x\r\n\r\n',
    `DELETE /api/user/attachments/v1?key=a HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`,
    'GET /health HTTP/1.1\r\nHost: x\r\n\r\n',
  ]
  const clients = await Promise.all(
    requests.map(async (request) => {
      const client = await openConnection(served.port)
      client.write(request)
      await until(() => client.received().includes('\r\n\r\n'), `no reply to ${request}`)
      return { ...client, request }
    }),
  )
  const idle = await openConnection(served.port)
  await until(() => idle.socket.destroyed, 'an idle connection stays open', { deadlineMs: 20_000 })
  for (const { socket, received, request } of clients) {
    const isAnnounced = /connection: close/i.test(received())
    expect([request, socket.destroyed]).toEqual([request, isAnnounced])
    socket.destroy()
  }
}, 30_000)
