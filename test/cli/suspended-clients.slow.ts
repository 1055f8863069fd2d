import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { countFileReaders } from '../../src/platform/http/body/connection-time.ts'
import { PATH } from '../support/attachments.ts'
import { selfSigned } from '../support/certificates.ts'
import { openConnection } from '../support/raw-request.ts'
import { serveBehindSocket } from '../support/served.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024

test.concurrent('a body can arrive with pauses longer than the idle timeout', async () => {
  await using served = await serve()
  const json = JSON.stringify({ profile: { name: 'Ann' } })
  const length = (body: string) => `Content-Length: ${body.length}\r\n`
  const requests = [
    ['PATCH /api/user/profile/v1', json, length(json), 10],
    [
      'PATCH /api/user/profile/v1',
      `${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n`,
      'Transfer-Encoding: chunked\r\n',
      10,
    ],
  ] as const
  const clients = await Promise.all(
    requests.map(async ([target, body, header, cut]) => {
      const client = await openConnection(served.port)
      const common = `Host: x\r\nAuthorization: Bearer ${served.token}\r\nContent-Type: application/json\r\n`
      client.socket.write(`${target} HTTP/1.1\r\n${common}${header}\r\n${body.slice(0, cut)}`)
      return { ...client, rest: body.slice(cut) }
    }),
  )
  await served.idleTimeout()
  for (const { socket, rest, received } of clients) {
    socket.write(rest)
    await until(() => received().includes('\r\n\r\n'), 'no reply')
    expect(received()).toStartWith('HTTP/1.1 200')
    socket.destroy()
  }
}, 60_000)

for (const scheme of ['http', 'https'] as const) {
  test.concurrent(`a download continues after its client was suspended, over ${scheme}`, async () => {
    await using served = await serve(scheme === 'https')
    const size = 24 * MIB
    const url = await served.upload(size)
    const last = 20 * MIB
    const downloads = [
      { output: join(served.dataDir, 'whole'), options: [], expected: `200 ${size} ${size}` },
      {
        output: join(served.dataDir, 'part'),
        options: ['-r', `0-${last - 1}`],
        expected: `206 ${last} ${last}`,
      },
    ].map(({ output, options, expected }) => {
      const format = '%{http_code} %{size_download} %header{content-length}'
      const fixed = ['-sk', '--limit-rate', '4M', '-o', output, '-w', format]
      return {
        output,
        expected,
        client: Bun.spawn(['curl', ...fixed, ...options, url], { stdout: 'pipe' }),
      }
    })
    for (const { client, output } of downloads) {
      await until(() => Bun.file(output).size > 0, 'nothing arrives')
      client.kill('SIGSTOP')
    }
    await served.idleTimeout()
    for (const { client } of downloads) client.kill('SIGCONT')
    for (const { client, expected } of downloads)
      expect(await new Response(client.stdout).text()).toBe(expected)
  }, 90_000)
}

test.concurrent('a connection that downloads many files is watched only once, until it closes', async () => {
  await using served = await serve()
  const { pathname, search } = new URL(await served.upload(1024))
  const client = await openConnection(served.port)
  for (let times = 1; times <= 20; times++) {
    client.socket.write(
      `GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${served.token}\r\n\r\n`,
    )
    await until(() => client.received().split('200 OK').length > times, 'no file')
  }
  expect(countFileReaders(served.port)).toBe(1)
  client.socket.destroy()
  await until(() => countFileReaders(served.port) === 0, 'the connection is still watched', {
    deadlineMs: 20_000,
  })
}, 60_000)

/** The application behind a serving socket, with a short idle timeout. */
async function serve(isTls = false) {
  const { cert, key } = await selfSigned('localhost')
  const tls = isTls ? { tls: { cert, key } } : {}
  const served = await serveBehindSocket({ idleTimeout: 8, ...tls })
  const { port, token } = served
  const base = `${isTls ? 'https' : 'http'}://127.0.0.1:${port}`
  return {
    ...served,
    async upload(size: number) {
      const reply = await fetch(`${base}${PATH}?type=supportTicket`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
        body: 'x'.repeat(size),
        tls: { rejectUnauthorized: false },
      })
      const { response } = (await reply.json()) as { response: { url: string }[] }
      return response[0]?.url.replace(/^https?:\/\/[^/]+/, base) ?? ''
    },
    /** Resolves when the runtime has closed two silent connections in succession. */
    async idleTimeout() {
      for (let times = 0; times < 2; times++) {
        const { socket } = await openConnection(port, isTls)
        await until(() => socket.destroyed, 'an idle connection stays open', { deadlineMs: 30_000 })
      }
    },
  }
}
