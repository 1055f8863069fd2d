import { expect, test } from 'bun:test'
import { createClient } from '../../src/client/client.ts'
import { createTestApp } from '../support/app.ts'
import { clientOf } from '../support/network.ts'

/** Documented operations that apps do not call: files have URLs, `onChange` reads the stream, and the others are for servers. */
const NOT_FOR_APPS = [
  'readFile',
  'streamChanges',
  'readKeys',
  'receiveBillingEvent',
  'receiveAppStoreNotification',
  'receivePlayNotification',
  'receiveStripeEvent',
  'receiveAppleAccountNotification',
]

test('the client has a function for every documented operation, and each requests the right route', async () => {
  await using app = await createTestApp()
  const { paths } = (await app.ask('GET', '/docs/json')).json as {
    paths: Record<string, Record<string, { operationId: string }>>
  }
  const routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId }]) => ({
      name: operationId,
      route: `${method.toUpperCase()} ${path}`,
    })),
  )
  const forApps = routes.filter(({ name }) => !NOT_FOR_APPS.includes(name))
  const localNames = [
    'isSignedIn',
    'accessToken',
    'onAuthChange',
    'onChange',
    'readKept',
    'syncData',
    'queuePurchase',
    'onPurchaseResult',
  ]
  const names = Object.keys(clientOf(app).client)
  expect(names.toSorted()).toEqual([...forApps.map(({ name }) => name), ...localNames].toSorted())
  for (const { name, route } of forApps) {
    expect([name, ...(await routesRequestedBy(name))]).toContain(route)
  }
})

/** The routes that a function requests, signed out and signed in, when every request fails. */
async function routesRequestedBy(name: string): Promise<string[]> {
  const requested: string[] = []
  const fetch = async (url: string, init?: RequestInit) => {
    requested.push(`${init?.method} ${new URL(url).pathname}`)
    return Response.json({ code: 'not_found', message: 'Not found.' }, { status: 404 })
  }
  const session = { accessToken: 'a', refreshToken: 'r', expiresAt: Date.now() + 3_600_000 }
  for (const kept of [null, JSON.stringify(session)]) {
    const storage = { getItem: () => kept, setItem: () => {}, removeItem: () => {} }
    const client = createClient({ baseUrl: 'http://127.0.0.1:9', storage, fetch })
    const call = client[name as keyof typeof client] as (input: unknown) => Promise<unknown>
    await call({ files: [] }).catch(() => {})
  }
  return requested
}
