import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { type Client, createClient, type UserProfile } from '../../src/client/client.ts'
import operations from '../../src/client/testing/operations.json' with { type: 'json' }
import { createFakeServer, type FakeServer, UNSUPPORTED } from '../../src/client/testing/testing.ts'
import { Failure } from '../../src/platform/http/replies/envelope.ts'
import { createTestApp, PASSWORD, type TestApp } from '../support/app.ts'
import { codeOf } from '../support/network.ts'

const EMAIL = 'ann@example.com'
const LOGIN = { email: EMAIL, password: PASSWORD }

async function signedIn(server: FakeServer) {
  const { url: baseUrl, fetch, now } = server
  const client = createClient({ baseUrl, fetch, now })
  await client.register(LOGIN)
  return client
}

type Route = { method: string; path: string; hooks: { response?: Record<string, TSchema> } }

let real: TestApp
beforeAll(async () => {
  real = await createTestApp()
})
afterAll(() => real[Symbol.asyncDispose]())

test('every reply from the fake server would be valid from the real one', async () => {
  const models = new Map(
    (real.app.routes as Route[]).map(({ method, path, hooks }) => [
      `${method} ${path}`,
      hooks.response?.['200'],
    ]),
  )
  const server = createFakeServer({ faqs: [{ question: 'Why?', answer: 'Because.' }] })
  const seen = new Set<string>()
  const problems: string[] = []
  const { url: baseUrl, now } = server
  const client = createClient({ baseUrl, now, fetch: checkingFetch })
  await useEverything(client, server)
  expect(problems).toEqual([])
  const expected = Object.entries(operations)
    .filter(([name]) => !(name in UNSUPPORTED) && name !== 'streamChanges')
    .map(([, { route }]) => route)
  expect([...seen].toSorted()).toEqual(expected.toSorted())

  async function checkingFetch(target: string, init?: RequestInit): Promise<Response> {
    const reply = await server.fetch(target, init)
    const route = `${init?.method} ${new URL(target).pathname}`
    const body: unknown = await reply.clone().json()
    const model = models.get(route)
    if (reply.status !== 200 || model === undefined) problems.push(`${route}: ${reply.status}`)
    else
      for (const { path, message } of Value.Errors(model, body))
        problems.push(`${route}: ${path} ${message}`)
    seen.add(route)
    return reply
  }
})

test('a failure from the fake server has the real server’s format', async () => {
  const server = createFakeServer()
  const body = JSON.stringify({ email: 'x', password: 'x' })
  const reply = await server.fetch(`${server.url}/api/auth/register/v1`, { method: 'POST', body })
  expect([...Value.Errors(Failure, await reply.json())]).toEqual([])
})

describe('replies that tests set', () => {
  test('apply until they are undone', async () => {
    const server = createFakeServer()
    const client = await signedIn(server)
    const undo = server.reply('listAttachments', { attachments: [], next: 'more' })
    expect(await client.listAttachments()).toEqual({ attachments: [], next: 'more' })
    server.reply('changeEmail', { message: 'Look into your mails.' })
    const { message } = await client.changeEmail({ email: 'new@example.com' })
    expect(message).toBe('Look into your mails.')
    undo()
    expect((await client.listAttachments()).attachments).toHaveLength(1)
  })

  test('replace stateful replies, and still need a session', async () => {
    const server = createFakeServer()
    const client = await signedIn(server)
    const user = await client.readProfile()
    server.reply('readProfile', { ...user, email: 'other@example.com' })
    expect((await client.readProfile()).email).toBe('other@example.com')
    await client.logout()
    expect(await codeOf(client.readProfile())).toBe('unauthenticated')
  })

  test('are refused for an unknown operation', () => {
    const server = createFakeServer()
    expect(() => server.reply('readProfil' as 'readProfile', {} as UserProfile)).toThrow(
      'The fake server has no operation readProfil.',
    )
  })
})

/** Calls every function of the client that sends a request, in an order in which each succeeds. */
async function useEverything(client: Client, server: FakeServer) {
  await client.startAsGuest()
  const { user } = await client.register({ ...LOGIN, name: 'Ann' })
  await readEverything(client)
  server.grantSubscription(user, { state: 'trial' })
  server.grantSubscription(user, { state: 'grace_period', productId: 'other' })
  server.grantSubscription(user, { state: 'lifetime', productId: 'third' })
  for (const use of await loadUses()) await use(client, server, user)
  await readEverything(client)
  await usePasskeysAndFiles(client)
  await client.changeProfile({ profile: { name: 'Ann', avatarKey: 'a.webp' } })
  await client.resendVerification()
  await client.verifyEmail({ token: server.lastToken(EMAIL) })
  await client.changeEmail({ email: 'new@example.com', password: PASSWORD })
  await client.cancelEmailChange({ token: 'token' })
  await client.changePassword({ currentPassword: PASSWORD, newPassword: PASSWORD })
  await client.setUpTwoFactor({ password: PASSWORD })
  const code = server.twoFactorCode
  await client.confirmTwoFactor({ code })
  await client.renewRecoveryCodes({ password: PASSWORD, code })
  await client.logout()
  const result = await client.login(LOGIN)
  if (!('challengeToken' in result)) throw new Error('no challenge')
  await client.passTwoFactor({ challengeToken: result.challengeToken, code })
  await client.disableTwoFactor({ password: PASSWORD, code })
  await client.endSession({ id: 'others' })
  await client.logout()
  await client.forgotPassword({ email: EMAIL })
  await client.resetPassword({ token: server.lastToken(EMAIL), newPassword: PASSWORD })
  const { requestToken } = await client.requestEmailCode({ email: EMAIL })
  await client.signInWithEmailCode({ requestToken, code: server.lastCode(EMAIL) })
  const idToken = server.issueIdToken({ provider: 'google', email: EMAIL })
  await client.signInSocially({ provider: 'google', idToken })
  await client.unlinkProvider({ provider: 'google' })
  await client.refresh()
  await client.deleteProfile()
}

type Use = (client: Client, server: FakeServer, user: { _id: string }) => Promise<void>

/** The requests that features add, in the `fake.requests.ts` beside their tests. */
async function loadUses(): Promise<Use[]> {
  const found = new Bun.Glob('../features/*/fake.requests.ts').scanSync(import.meta.dir)
  const modules = await Promise.all([...found].map((path) => import(path)))
  return modules.map(({ use }) => use)
}

async function readEverything(client: Client) {
  await client.readProfile()
  await client.listSessions()
  await client.readSubscription()
  await client.readAppSettings()
  await client.readPricingPlans()
  await client.readCurrencyRates()
  await client.readContentVersions()
  await client.readFaqs()
  await client.exportData()
}

async function usePasskeysAndFiles(client: Client) {
  await client.startPasskeySignIn()
  await client.startPasskeyRegistration({ password: PASSWORD })
  const parts = { id: 'a', rawId: 'a', type: 'public-key' } as const
  const response = { clientDataJSON: 'a', attestationObject: 'a' }
  await client.addPasskey({ credential: { ...parts, response } })
  await client.listPasskeys()
  await client.renamePasskey({ id: 'a', name: 'b' })
  await client.removePasskey({ id: 'a' })
  const files = [{ name: 'a.txt', data: new Uint8Array([65]) }]
  await client.uploadAttachments({ type: 'supportTicket', files })
  await client.listAttachments()
  await client.readAttachment({ key: 'a' })
  await client.deleteAttachment({ key: 'a' })
}
