import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { axios } from 'acme-client'
import { createAcme } from '../../src/cli/tls/acme.ts'
import { yieldToEventLoop } from '../support/until.ts'

test('an endless response from a certificate authority is read only up to a limit', async () => {
  let sent = 0
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const chunk = Buffer.alloc(2 ** 20, 32)
  const body = () =>
    new ReadableStream({
      async pull(controller) {
        sent += chunk.length
        controller.enqueue(chunk)
        await yieldToEventLoop()
        if (sent < 256 * 2 ** 20) return
        controller.close()
        resolve()
      },
      cancel: () => resolve(),
    })
  using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(body()) })
  const folder = await mkdtemp(join(tmpdir(), 'homeport-acme-'))
  const directoryUrl = `http://127.0.0.1:${server.port}/directory`
  const acme = createAcme({ folder, directoryUrl, domains: ['a.example'], challenges: new Map() })
  // Its retries outlast this test.
  acme.obtain().catch(() => {})
  await ended
  expect(sent).toBeLessThan(64 * 2 ** 20)
  await rm(folder, { recursive: true })
})

test('the error names an unreachable certificate authority', async () => {
  const { acmeSettings } = axios.defaults as { acmeSettings?: object }
  Object.assign(axios.defaults, { acmeSettings: { ...acmeSettings, retryDefaultDelay: 0 } })
  const folder = await mkdtemp(join(tmpdir(), 'homeport-acme-'))
  const directoryUrl = 'https://127.0.0.1:1/directory'
  const acme = createAcme({ folder, directoryUrl, domains: ['a.example'], challenges: new Map() })
  try {
    await expect(acme.obtain()).rejects.toThrow('127.0.0.1:1 does not respond')
  } finally {
    Object.assign(axios.defaults, { acmeSettings })
    await rm(folder, { recursive: true })
  }
})
