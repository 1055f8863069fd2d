import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'

const HERE = { device: 'Firefox', ip: '127.0.0.1', isLocal: true }
const ELSEWHERE = { ...HERE, ip: '192.0.2.1', isLocal: false }

async function enable(app: TestApp): Promise<string> {
  const token = await app.services.operators.demo.enable()
  if (token === null) throw new Error('the demo has no link')
  return token
}

test('the demo link signs in any number of times, on this machine only', async () => {
  await using app = await createTestApp()
  const { demo, sessions, accounts } = app.services.operators
  const token = await enable(app)
  await demo.signIn(token, HERE)
  const { session } = await demo.signIn(token, HERE)
  app.clock.advance(60 * 60_000)
  const operator = await sessions.check(session)
  // A demo session counts as just proven, because there is no passkey.
  expect(operator).toMatchObject({ name: 'demo', role: 'owner', provenAt: app.clock.now })
  expect(await accounts.hasAny()).toBe(true)
  for (const [used, visitor] of [
    [token, ELSEWHERE],
    ['', HERE],
    [`${token}x`, HERE],
  ] as const)
    await expect(demo.signIn(used, visitor)).rejects.toMatchObject({ code: 'forbidden' })
})

test('a demo session is refused in requests from another machine', async () => {
  await using app = await createTestApp()
  const { session } = await app.services.operators.demo.signIn(await enable(app), HERE)
  const headers = { cookie: `__Host-homeport-console=${session}` }
  // Test requests have no peer address.
  expect((await app.ask('GET', '/console/api/me', { headers })).status).toBe(401)
})

test('without --demo, neither the link nor its sessions work, and the operator can be removed', async () => {
  await using app = await createTestApp()
  const token = await enable(app)
  const { session } = await app.services.operators.demo.signIn(token, HERE)
  await app.restart()
  const { demo, sessions, accounts } = app.services.operators
  await expect(demo.signIn(token, HERE)).rejects.toMatchObject({ code: 'forbidden' })
  expect(await sessions.check(session)).toBeNull()
  expect(demo.isEnabled()).toBe(false)
  await demo.remove()
  expect(await accounts.hasAny()).toBe(false)
  // A later demo does not bring its sessions back.
  await enable(app)
  expect(await sessions.check(session)).toBeNull()
})

test('creates no demo operator if there are other operators', async () => {
  await using app = await createTestApp()
  const { demo, accounts } = app.services.operators
  await accounts.add('dana', 'owner')
  expect(await demo.enable()).toBeNull()
  expect((await accounts.list()).map(({ name }) => name)).toEqual(['dana'])
})

test('removing the demo operator invalidates the demo link', async () => {
  await using app = await createTestApp()
  const { demo, accounts } = app.services.operators
  const token = await enable(app)
  await accounts.remove('demo')
  await expect(demo.signIn(token, HERE)).rejects.toMatchObject({ code: 'forbidden' })
})
