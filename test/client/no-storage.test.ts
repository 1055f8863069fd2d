import { afterEach, beforeEach, expect, type Mock, spyOn, test } from 'bun:test'
import { createClient, type Storage } from '../../src/client/client.ts'
import { createMemoryStorage } from '../../src/client/storage.ts'
import { createFakeServer } from '../../src/client/testing/testing.ts'

const USER = { email: 'ann@example.com', password: 'correct horse battery' }

let warn: Mock<typeof console.warn>

beforeEach(() => {
  warn = spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => warn.mockRestore())

function block(): never {
  throw new DOMException('The operation is insecure.', 'SecurityError')
}

/** A browser's storage while site data is blocked. */
const BLOCKED: Storage = { getItem: block, setItem: block, removeItem: block }

function openClient(options: { storage?: Storage | null; offlineStorage?: Storage | null }) {
  const server = createFakeServer()
  server.addUser(USER)
  const { url: baseUrl, fetch, now } = server
  return createClient({ baseUrl, fetch, now, ...options })
}

test.each([
  ['null', null],
  ['blocked', BLOCKED],
])('a storage that is %s is replaced with memory, with one warning', async (_name, storage) => {
  const client = openClient({ storage })
  await client.login(USER)
  expect((await client.readProfile()).email).toBe(USER.email)
  expect((await client.readKept('profile')).isStale).toBe(true)
  await client.logout()
  expect(await client.isSignedIn()).toBe(false)
  expect(warn).toHaveBeenCalledTimes(1)
  expect(warn.mock.calls[0]?.[0]).toContain('has no storage')
})

test.each([
  ['null', null],
  ['blocked', BLOCKED],
])('an offline storage that is %s is replaced with memory', async (_name, offlineStorage) => {
  const storage = createMemoryStorage()
  const client = openClient({ storage, offlineStorage })
  await client.login(USER)
  await client.readProfile()
  expect((await client.readKept('profile')).isStale).toBe(true)
  expect(storage.getItem('homeport.kept')).toBeNull()
  expect(warn).toHaveBeenCalledTimes(1)
})

test('a client without a storage does not warn', async () => {
  const client = openClient({})
  await client.login(USER)
  expect(warn).not.toHaveBeenCalled()
})

test.each([
  ['rejects at its first use', { getItem: async () => block() }],
  ['throws another error', { getItem: () => JSON.parse('{') }],
])('a storage that %s fails the call', async (_name, part) => {
  const client = openClient({ storage: { ...createMemoryStorage(), ...part } })
  await expect(client.isSignedIn()).rejects.toMatchObject({ code: 'storage_failed' })
  expect(warn).not.toHaveBeenCalled()
})

test('a storage that has worked before fails the call', async () => {
  const storage = createMemoryStorage()
  const client = openClient({ storage })
  await client.login(USER)
  storage.getItem = block
  await expect(client.readProfile()).rejects.toMatchObject({ code: 'storage_failed' })
})
