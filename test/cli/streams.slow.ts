import { beforeAll, expect, test } from 'bun:test'
import { createClient } from '../../src/client/client.ts'
import type { ContentVersions } from '../../src/client/models.ts'
import { PASSWORD } from '../support/app.ts'
import { onSqlite } from '../support/databases.ts'
import { openStream } from '../support/event-stream.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { openConnection } from '../support/raw-request.ts'
import { register } from '../support/requests.ts'
import { simulateDelay, until } from '../support/until.ts'

const PATH = '/api/user/changes/v1'

beforeAll(buildExecutable, 300_000)

test('a server with open streams stops immediately', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const { accessToken } = await register(server, 'ann@example.com')
  const open = () => openStream((request) => fetch(request), accessToken, { base: server.url })
  const streams = await Promise.all([open(), open(), open()])
  await Promise.all(streams.map((stream) => stream.next('ready')))
  const start = performance.now()
  expect(await server.stop()).toBe(0)
  expect(performance.now() - start).toBeLessThan(2_000)
  await Promise.all(streams.map((stream) => stream.ended()))
}, 30_000)

test('a stream stays open longer than the idle timeout of other connections', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ KEEP_ALIVE_SECONDS: '5' })
  const { accessToken } = await register(server, 'ann@example.com')
  const stream = await openStream((request) => fetch(request), accessToken, { base: server.url })
  await stream.next('ready')
  await simulateDelay(20_000)
  await change(server.url, accessToken)
  await stream.next('profile')
  await stream.close()
  await server.stop()
}, 40_000)

test('a restart does not wait for streams, and apps reconnect to the new process', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const client = createClient({ baseUrl: server.url })
  await client.register({ email: 'ann@example.com', password: PASSWORD })
  const kinds: string[] = []
  const stop = client.onChange(({ kind }) => kinds.push(kind))
  await until(() => kinds.length === 4, 'not every kind is reported')
  const start = performance.now()
  const { pid } = JSON.parse((await homeport.run(['restart', '--json'])).stdout)
  expect(performance.now() - start).toBeLessThan(6_000)
  await client.changeProfile({ profile: { name: 'Ann' } })
  await until(() => kinds.includes('profile', 4), 'the change is not reported')
  stop()
  process.kill(pid, 'SIGTERM')
}, 40_000)

onSqlite('on PostgreSQL a restore needs an empty database: see copy.slow.ts')(
  'a restore makes apps read everything again',
  async () => {
    await using homeport = await installExecutable()
    const server = await homeport.start()
    const { accessToken } = await register(server, 'ann@example.com')
    expect((await homeport.run(['backup', '--out', 'backup.tar'])).exitCode).toBe(0)
    const open = (base: string, lastEventId: string | null) =>
      openStream((request) => fetch(request), accessToken, { base, lastEventId })
    const stream = await open(server.url, null)
    await stream.next('ready')
    await change(server.url, accessToken)
    await stream.next('profile')
    const known = await contentVersions(server.url)
    await server.stop()
    expect((await homeport.run(['restore', 'backup.tar', '--yes'])).exitCode).toBe(0)
    const restored = await homeport.start()
    const again = await open(restored.url, stream.lastId())
    await again.next('ready')
    expect(again.names()).toEqual(['subscription', 'profile', 'data', 'settings', 'ready'])
    const restoredVersions = await contentVersions(restored.url)
    expect(restoredVersions.appSetting).toBeGreaterThan(known.appSetting + 100)
    expect(restoredVersions.faqs).toBeGreaterThan(known.faqs + 100)
    await restored.stop()
  },
  30_000,
)

test('a stream requested over an old connection after a restart gets 503', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ KEEP_ALIVE_SECONDS: '60' })
  const { accessToken } = await register(server, 'ann@example.com')
  const { received, write } = await openConnection(server.port)
  const head = `HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${accessToken}\r\n\r\n`
  write(`GET /api/user/profile/v1 ${head}`)
  await until(() => received().includes('"code":"ok"'), 'no reply arrives')
  const { pid } = JSON.parse((await homeport.run(['restart', '--json'])).stdout)
  const first = received().length
  write(`GET ${PATH} ${head}`)
  const second = () => received().slice(first)
  await until(() => second().includes('"code":'), 'no reply arrives')
  expect(second()).toStartWith('HTTP/1.1 503')
  expect(second()).toMatch(/^connection: close/im)
  process.kill(pid, 'SIGTERM')
}, 40_000)

async function contentVersions(url: string) {
  const reply = await fetch(`${url}/api/user/content_version/v1`)
  return ((await reply.json()) as { response: ContentVersions }).response
}

function change(url: string, token: string) {
  return fetch(`${url}/api/user/profile/v1`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ profile: { name: 'Ann' } }),
  })
}
