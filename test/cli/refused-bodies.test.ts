import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PATH } from '../support/attachments.ts'
import { openConnection } from '../support/raw-request.ts'
import { serveBehindSocket } from '../support/served.ts'
import { simulateDelay, until } from '../support/until.ts'

const MIB = 1024 * 1024
const STATUS = /^HTTP\/1\.1 (\d{3})/

/** Refused requests: `[status, path, content type, bytes, is signed in]`. */
const REFUSALS = [
  [401, `${PATH}?type=supportTicket`, 'text/plain', 6 * MIB, false],
  [413, `${PATH}?type=supportTicket`, 'text/plain', 26 * MIB, true],
  [413, `${PATH}?type=supportTicket`, 'multipart/form-data; boundary=x', 65 * MIB, true],
  [422, `${PATH}?type=other`, 'text/plain', 6 * MIB, true],
  [400, `${PATH}?type=supportTicket`, 'multipart/form-data', 6 * MIB, true],
  [413, '/api/auth/login/v1', 'application/json', 6 * MIB, false],
  [404, '/nothing', 'text/plain', 6 * MIB, false],
] as const

for (const [how, version, header] of [
  ['HTTP/1.1', '1.1', ''],
  ['Connection: close', '1.1', 'Connection: close\r\n'],
  ['HTTP/1.0', '1.0', ''],
] as const) {
  test(`a client that sends its whole body before it reads gets the refusal, with ${how}`, async () => {
    await using served = await serveBehindSocket()
    for (const [status, path, type, size, isSignedIn] of REFUSALS) {
      const client = await openClient(served.port)
      const head = `POST ${path} HTTP/${version}\r\nHost: x\r\n${header}Content-Type: ${type}\r\n`
      const token = isSignedIn ? served.token : 'none'
      client.write(`${head}Authorization: Bearer ${token}\r\nContent-Length: ${size}\r\n\r\n`)
      await sendSlowly(client.socket, size)
      expect(Number(STATUS.exec(await client.reply())?.[1])).toBe(status)
      client.socket.destroy()
    }
  }, 30_000)
}

test('a refusal arrives while the body is still being sent, and announces that the connection closes', async () => {
  await using served = await serveBehindSocket()
  const client = await openClient(served.port)
  client.write(`POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: ${6 * MIB}\r\n\r\nx`)
  const reply = await client.reply()
  expect(reply).toContain('404 Not Found')
  expect(reply.toLowerCase()).toContain('connection: close')
  expect(reply).toContain('"code":"not_found"')
  client.socket.destroy()
})

test('a refused request whose body has arrived leaves its connection open as long as any other', async () => {
  await using served = await serveBehindSocket({}, 1)
  const client = await openClient(served.port)
  const body = JSON.stringify({ displayName: 'x'.repeat(1_000) })
  const request = `POST ${PATH}?type=supportTicket HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`
  for (let times = 0; times < 2; times++) {
    client.write(request + body)
    const reply = await client.reply()
    expect(reply).toContain('401 Unauthorized')
    expect(reply.toLowerCase()).not.toContain('connection: close')
  }
  const answeredAt = performance.now()
  await client.closed
  expect(performance.now() - answeredAt).toBeLessThan(10_000)
}, 20_000)

test.skipIf(Bun.which('nginx') === null)(
  'nginx passes on a refusal with its default and the documented settings',
  async () => {
    await using served = await serveBehindSocket()
    const documented = 'proxy_request_buffering off; proxy_http_version 1.1; '
    for (const settings of [
      '',
      'proxy_request_buffering off;',
      `${documented}proxy_set_header Connection "";`,
    ]) {
      await using nginx = await startNginx(served.port, settings)
      for (const [status, path, type, size, isSignedIn] of REFUSALS.slice(0, 2)) {
        const reply = await fetch(`http://127.0.0.1:${nginx.port}${path}`, {
          method: 'POST',
          headers: {
            'content-type': type,
            authorization: `Bearer ${isSignedIn ? served.token : 'none'}`,
          },
          body: new Uint8Array(size),
        })
        expect([settings, path, reply.status]).toEqual([settings, path, status])
        await reply.text()
      }
    }
  },
  30_000,
)

/** A client whose `reply` resolves with the next response, once its head and body have arrived. */
async function openClient(port: number) {
  const { socket, closed, received, write } = await openConnection(port)
  let before = 0
  socket.pause()
  return { socket, closed, write, reply }

  async function reply() {
    const arrived = () => received().slice(before)
    socket.resume()
    await until(() => socket.closed || /\r\n\r\n[\s\S]*\}/.test(arrived()), 'no reply')
    const text = arrived()
    before = received().length
    return text
  }
}

/** Sends zeros at the pace of a network, without reading. */
async function sendSlowly(socket: Socket, size: number) {
  const chunk = Buffer.alloc(MIB)
  for (let sent = 0; sent < size && !socket.destroyed; sent += chunk.length) {
    if (!socket.write(chunk)) {
      await new Promise<void>((resolve) => {
        socket.once('drain', resolve)
        socket.once('close', () => resolve())
      })
    }
    await simulateDelay(5)
  }
}

async function startNginx(target: number, settings: string) {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-nginx-'))
  const probe = Bun.serve({ port: 0, fetch: () => new Response() })
  const { port } = probe
  await probe.stop(true)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ')
  await Bun.write(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log; events {} http { access_log off; ${paths}
      server { listen 127.0.0.1:${port}; client_max_body_size 80m; ${settings}
        location / { proxy_pass http://127.0.0.1:${target}; } } }`,
  )
  const nginx = Bun.spawn(['nginx', '-p', folder, '-c', join(folder, 'nginx.conf')], {
    stderr: 'ignore',
  })
  const isAnswering = () =>
    fetch(`http://127.0.0.1:${port}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(isAnswering, 'nginx does not respond')
  return {
    port,
    async [Symbol.asyncDispose]() {
      nginx.kill()
      await nginx.exited
      await rm(folder, { recursive: true })
    },
  }
}
