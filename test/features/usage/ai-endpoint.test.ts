import { afterAll, expect, test } from 'bun:test'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKey } from '../../support/api-keys.ts'
import { createTestApp } from '../../support/app.ts'
import { publishPlans } from '../../support/plans.ts'

const MODEL = `
async function askModel({ headers }) {
  const answer = 'answer ' + ++asked
  if (headers['x-fails']) throw new Error('the model failed')
  return answer
}`

const folder = await mkdtemp(join(tmpdir(), 'homeport-endpoint-'))
afterAll(() => rm(folder, { recursive: true }))

test('the documented AI endpoint charges a question once, and calls the model once', async () => {
  await using app = await createTestApp()
  await publishPlans(app, [{ code: 'free', aiMonthlyCreditLimit: 2 }])
  const { user } = await app.register()
  const { secret } = await createKey(app, { scopes: ['usage:write'] })
  using homeport = Bun.serve({ port: 0, fetch: (request) => app.app.handle(request) })
  const ask = await startEndpoint(user._id, secret, homeport.url.origin)
  const id = 'k'.repeat(98)
  expect((await ask(id, { fails: true })).status).toBe(502)
  expect((await ask(id)).status).toBe(409)
  const atOnce = await Promise.all(['d', 'd', 'd'].map((same) => ask(same, { fails: true })))
  expect(atOnce.map(({ status }) => status).toSorted()).toEqual([409, 409, 502])
  const first = await ask('a')
  expect(first).toMatchObject({ status: 200, body: { answer: 'answer 3', remaining: 1 } })
  expect(await ask('a')).toEqual(first)
  expect((await ask('b')).body).toEqual({ answer: 'answer 4', remaining: 0 })
  expect((await ask('a', { fails: true })).body).toMatchObject({ answer: 'answer 3' })
  expect((await ask('c')).status).toBe(429)
})

/** Runs the code of docs/server-api.md with a fake model, and returns a function that sends it a question. */
async function startEndpoint(userId: string, secret: string, origin: string) {
  const page = await Bun.file('docs/server-api.md').text()
  const [, code = ''] =
    /```js\n([\s\S]*?)```/.exec(page.split('## An AI endpoint in Node')[1] ?? '') ?? []
  const path = join(folder, 'endpoint.mjs')
  const served = code
    .replace(/^import .*user-id.*$/m, `const userIdOf = async () => '${userId}'\nlet asked = 0`)
    .replaceAll('https://api.example.com', origin)
    .replace(/^createServer\(/m, 'export const server = createServer(')
    .replace('.listen(8080)', '.listen(0)')
  await Bun.write(path, served + MODEL)
  process.env['HOMEPORT_KEY'] = secret
  const { server } = await import(path)
  if (!server.listening) await once(server, 'listening')
  server.unref()
  return async (id: string, { fails = false } = {}) => {
    const headers = { authorization: 'Bearer x', 'idempotency-key': id }
    const reply = await fetch(`http://localhost:${server.address().port}`, {
      headers: { ...headers, ...(fails ? { 'x-fails': '1' } : {}) },
    })
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
  }
}
