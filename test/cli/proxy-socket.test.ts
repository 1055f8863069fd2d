import { expect, test } from 'bun:test'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listenForProxy, requireUnusedSocket } from '../../src/cli/server/proxy-socket.ts'
import { readConfig } from '../../src/config/config.ts'
import { createTestApp } from '../support/app.ts'

test('only the user and its group may connect, and a later process takes the path', async () => {
  await using folder = await createFolder()
  const first = listenForProxy(folder.path, (unix) => serve(unix, 'first'))
  expect(statSync(folder.path).mode & 0o777).toBe(0o660)
  expect(await ask(folder.path)).toBe('first')
  const second = listenForProxy(folder.path, (unix) => serve(unix, 'second'))
  expect(await ask(folder.path)).toBe('second')
  await first.stop(true)
  expect(await ask(folder.path)).toBe('second')
  await second.stop(true)
})

test('replaces a socket that a killed server left behind, but not the socket of a running server', async () => {
  await using folder = await createFolder()
  await requireUnusedSocket(folder.path)
  const server = listenForProxy(folder.path, (unix) => serve(unix, 'running'))
  expect(requireUnusedSocket(folder.path)).rejects.toThrow('is in use by another server')
  await server.stop(true)
  expect(existsSync(folder.path)).toBe(true)
  await requireUnusedSocket(folder.path)
})

test('explains why a path cannot be used', async () => {
  await using folder = await createFolder()
  writeFileSync(join(folder.path, '..', 'file'), '')
  for (const path of [`${folder.path}/missing/x.sock`, join(folder.path, '..', 'file', 'x.sock')])
    expect(() => listenForProxy(path, (unix) => serve(unix, ''))).toThrow('the folder must exist')
})

test('trusts X-Forwarded-For over a socket, because only the proxy can connect', async () => {
  await using folder = await createFolder()
  const environment = { GUESTS_PER_IP: '1', COUNTRY_HEADER: 'CF-IPCountry' }
  for (const [host, statuses] of [
    [`unix:${folder.path}`, [200, 200, 429, 200]],
    ['127.0.0.1', [200, 429, 429, 429]],
  ] as const) {
    await using app = await createTestApp({ HOST: host, ...environment })
    const server = listenForProxy(
      folder.path,
      (unix) => app.app.listen({ unix } as never).server as Bun.Server<unknown>,
    )
    const found = []
    for (const client of [
      '203.0.113.1',
      '203.0.113.2',
      '203.0.113.9, 203.0.113.2',
      '203.0.113.3',
    ]) {
      const headers = { 'x-forwarded-for': client, 'cf-ipcountry': 'AT' }
      const url = 'http://x/api/auth/guest/v1'
      const init = { method: 'POST', headers, unix: folder.path, keepalive: false }
      found.push((await fetch(url, init as BunFetchRequestInit)).status)
    }
    expect([host, found]).toEqual([host, [...statuses]])
    await server.stop(true)
  }
})

test('refuses metrics to the proxy without a token', async () => {
  await using folder = await createFolder()
  await using app = await createTestApp({ HOST: `unix:${folder.path}` })
  const server = listenForProxy(
    folder.path,
    (unix) => app.app.listen({ unix } as never).server as Bun.Server<unknown>,
  )
  expect((await fetch('http://x/metrics', { unix: folder.path })).status).toBe(404)
  await server.stop(true)
})

test('refuses TLS or a console port together with a socket for a proxy', () => {
  const HOST = 'unix:/run/homeport.sock'
  expect(readConfig({}, { HOST }).socketPath).toBe('/run/homeport.sock')
  expect(readConfig({}, { HOST: '::1' }).socketPath).toBeNull()
  for (const other of [
    { TLS_DOMAINS: 'api.example.com' },
    { TLS_CERT: '/cert', TLS_KEY: '/key' },
    { CONSOLE_PORT: '3001' },
  ])
    expect(() => readConfig({}, { HOST, ...other })).toThrow('HOST is a socket for a proxy')
})

function serve(unix: string, name: string) {
  return Bun.serve({ unix, fetch: () => new Response(name) })
}

async function ask(unix: string): Promise<string> {
  const reply = await fetch('http://x/', { unix, keepalive: false } as BunFetchRequestInit)
  return reply.text()
}

async function createFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-socket-'))
  return {
    path: join(folder, 'x.sock'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}
