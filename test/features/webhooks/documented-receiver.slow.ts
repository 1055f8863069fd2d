import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestApp } from '../../support/app.ts'
import { until } from '../../support/until.ts'
import { emit, sampleEvents } from './support/events.ts'

const NODE = Bun.which('node')
const PORT = 4907

test.skipIf(NODE === null)(
  'the documented receiver for Node accepts signed messages only',
  async () => {
    await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
    const { webhooks } = app.services
    const url = `http://127.0.0.1:${PORT}/hooks`
    const { endpoint, secret } = await webhooks.endpoints.add({ url, events: ['all'] })
    await using receiver = await startDocumented(secret)
    await emit(app, ...sampleEvents('u1'))
    await webhooks.flush()
    const { deliveries } = await webhooks.deliveries.list({ state: 'delivered' })
    expect(deliveries).toHaveLength(sampleEvents('u1').length)
    // The receiver does not know the new secrets. Three previous ones still sign.
    for (const status of [204, 204, 204, 401]) {
      await webhooks.endpoints.rotate(endpoint.id)
      expect((await webhooks.test(endpoint.id)).status).toBe(status)
    }
    const forged = { 'webhook-id': 'x', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' }
    expect((await fetch(url, { method: 'POST', body: '{}', headers: forged })).status).toBe(401)
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
    await receiver.stop()
    expect(await receiver.output).toContain('user.created {"userId":"u1"')
  },
)

/** Runs the program in docs/webhooks.md. */
async function startDocumented(secret: string) {
  const text = await Bun.file(join(import.meta.dir, '../../../docs/webhooks.md')).text()
  const program = /```js\n(.*?)```/s.exec(text)?.[1] ?? ''
  const folder = await mkdtemp(join(tmpdir(), 'homeport-receiver-'))
  const path = join(folder, 'receiver.mjs')
  await Bun.write(path, program)
  const process = Bun.spawn([NODE ?? '', path], {
    env: { WEBHOOK_SECRET: secret, PORT: String(PORT) },
    stdout: 'pipe',
  })
  const output = new Response(process.stdout).text()
  const isUp = () =>
    fetch(`http://127.0.0.1:${PORT}`).then(
      () => true,
      () => false,
    )
  await until(isUp, 'the receiver does not start')
  return { stop, output, [Symbol.asyncDispose]: stop }

  async function stop() {
    process.kill()
    await process.exited
    await rm(folder, { recursive: true, force: true })
  }
}
