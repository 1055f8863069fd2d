import { expect, test } from 'bun:test'
import { createClient, type Storage } from '../../src/client/client.ts'
import { createFakeServer } from '../../src/client/testing/testing.ts'
import { simulateDelay } from '../support/until.ts'

const [ANN, BOB] = ['ann@example.com', 'bob@example.com']
const password = 'correct horse battery'
const OPERATION_MS = 3
/** How long after the first call the second begins: before, during and after each storage operation. */
const DELAYS = Array.from({ length: 14 }, (_, at) => at * OPERATION_MS)

/** One operation at a time, as on a phone. */
function slowStorage(): Storage {
  const items = new Map<string, string>()
  let last: Promise<unknown> = Promise.resolve()
  const run = <T>(operation: () => T): Promise<T> => {
    const result = last.then(() => simulateDelay(OPERATION_MS)).then(operation)
    last = result
    return result
  }
  return {
    getItem: (key) => run(() => items.get(key) ?? null),
    setItem: (key, value) => run(() => void items.set(key, value)),
    removeItem: (key) => run(() => void items.delete(key)),
  }
}

function clientWithSlowStorage() {
  const server = createFakeServer()
  for (const email of [ANN, BOB]) server.addUser({ email, password })
  const { url: baseUrl, fetch, now } = server
  return { server, client: createClient({ baseUrl, fetch, now, storage: slowStorage() }) }
}

test.concurrent.each(DELAYS)('a sign-out %i ms after a refresh began is kept', async (delay) => {
  const { client, server } = clientWithSlowStorage()
  await client.login({ email: ANN, password })
  server.fail('logout', { code: 'network_error' })
  const refresh = client.refresh().catch(() => {})
  await simulateDelay(delay)
  await client.logout()
  await refresh
  expect(await client.isSignedIn()).toBe(false)
})

test.concurrent.each(DELAYS)('a sign-in %i ms after a refresh began is kept', async (delay) => {
  const { client } = clientWithSlowStorage()
  await client.login({ email: ANN, password })
  const refresh = client.refresh().catch(() => {})
  await simulateDelay(delay)
  await client.login({ email: BOB, password })
  await refresh
  expect(await client.readProfile()).toMatchObject({ email: BOB })
})

test.concurrent.each(DELAYS)('a sign-in %i ms after a guest start is kept', async (delay) => {
  const { client } = clientWithSlowStorage()
  const guest = client.startAsGuest().catch(() => {})
  await simulateDelay(delay)
  await client.login({ email: BOB, password })
  await guest
  expect(await client.readProfile()).toMatchObject({ email: BOB })
})
