import { beforeAll, expect, test } from 'bun:test'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { heicOf, QUADRANTS } from '../support/heic.ts'
import { register } from '../support/requests.ts'
import { watchWorkers } from '../support/watch.ts'

beforeAll(buildExecutable, 300_000)

test(`HEIC images of any dimensions stay within the same limits as other images ${fault(111)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ LOG_LEVEL: 'warn' })
  const { accessToken: token } = await register(server, 'ann@example.com')
  for (const [kind, heic] of [
    ['12 megapixels', heicOf({ grid: [8, 12] })],
    ['48 megapixels', heicOf({ grid: [16, 23] })],
    ['62 megapixels', heicOf({ grid: [15, 32] })],
    ['a false size of 62 megapixels', heicOf({ size: [7_936, 7_808] })],
  ] as const) {
    const start = performance.now()
    const stopWatching = watchWorkers(server)
    const reply = await upload(server, token, heic)
    const took = (performance.now() - start) / 1000
    const peak = await stopWatching()
    console.log(
      `111: HEIC, ${kind}: ${reply.status} after ${took.toFixed(1)} s, worker ${Math.round(peak / 1e6)} MB`,
    )
    expect([200, 422]).toContain(reply.status)
    expect(took).toBeLessThan(11)
    expect(peak).toBeLessThan(620e6)
    expect((await upload(server, token, QUADRANTS)).status).toBe(200)
  }
  await server.stop()
}, 120_000)

function upload({ url }: Server, token: string, body: Buffer) {
  return fetch(`${url}/api/user/attachments/v1?type=publicAsset`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'image/heic' },
    body,
  })
}
