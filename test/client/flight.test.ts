import { describe, expect, test } from 'bun:test'
import { type Client, createClient, type Storage } from 'homeport-client'
import { createFakeServer } from 'homeport-client/testing'
import { signJwt } from '../../src/lib/crypto/es256.ts'
import { createTestApp } from '../support/app.ts'
import { DAY, deliver, purchase, T0 } from '../support/billing.ts'
import { networkTo } from '../support/network.ts'
import { simulateDelay } from '../support/until.ts'

const LOGIN = { email: 'ann@example.com', password: 'correct horse battery' }
const KEPT = 'homeport.kept'

describe.each(['localStorage', 'a keychain'] as const)('with %s', (kind) => {
  test('a paying user starts without a connection for 30 days, and has access exactly until the end', async () => {
    await using phone = await createPhone(kind)
    const seen: boolean[] = []
    for (const day of [1, 4, 8, 12, 16, 20, 24, 28, 29.99, 30.01]) {
      phone.at(day)
      seen.push(await phone.hasAccess())
    }
    expect(seen).toEqual([true, true, true, true, true, true, true, true, true, false])
    phone.at(5)
    expect(await phone.hasAccess()).toBe(false)
  })

  test('a kept response is returned immediately, with the time it was sent', async () => {
    await using phone = await createPhone(kind)
    phone.at(3)
    const { data, isStale, asOf, refreshed } = await phone
      .start()
      .readKept('subscription', {}, { timeout: 50 })
    expect([isStale, Math.round((asOf.getTime() - T0) / DAY)]).toEqual([true, 1])
    expect(data.plan?.code).toBe('pro_year')
    await expect(refreshed).rejects.toMatchObject({ code: 'timeout' })
  })

  test.each([
    [
      'a later end',
      ({ data }) => setAll(data.entitlements, { expiresAt: '2030-01-01T00:00:00.000Z' }),
    ],
    ['another entitlement', ({ data }) => setAll(data.entitlements, { id: 'pro' })],
    ['another plan', ({ data }) => Object.assign(data, { plan: { ...data.plan, code: 'pro' } })],
    ['other claims', ({ data }) => Object.assign(data, { proof: withClaims(data.proof) })],
    ['no signature', ({ data }) => Object.assign(data, { proof: undefined })],
  ] as [string, Edit][])(
    'a stored subscription edited to have %s gives no access',
    async (_what, edit) => {
      await using phone = await createPhone(kind)
      await phone.editKept(({ entries }) => edit(entries.subscription))
      phone.at(31)
      expect(await phone.hasAccess()).toBe(false)
    },
  )

  test('values kept for another user give no access', async () => {
    await using phone = await createPhone(kind)
    const kept = await phone.storage.getItem(KEPT)
    await phone.signInAsBob()
    expect(await phone.storage.getItem(KEPT)).toBeNull()
    await phone.storage.setItem(KEPT, kept ?? '')
    expect(await phone.hasAccess()).toBe(false)
    const bob = await phone.userId()
    await phone.storage.setItem(KEPT, (kept ?? '').replace(/"userId":"[^"]+"/, `"userId":"${bob}"`))
    expect(await phone.hasAccess()).toBe(false)
  })

  test.each(['logout', 'deleteProfile'] as const)('nothing is kept after %s', async (name) => {
    await using phone = await createPhone(kind)
    const client = phone.start({ isOnline: true })
    await client[name]()
    expect(await phone.storage.getItem(KEPT)).toBeNull()
    expect(await phone.hasAccess()).toBe(false)
  })
})

test('an attacker’s key is not trusted if the app pins the keys of its server', async () => {
  await using phone = await createPhone('localStorage')
  const { kid } = phone.keys().sig
  phone.options = { signingKeys: [kid] }
  phone.at(2)
  expect(await phone.hasAccess()).toBe(true)
  const { privateKey } = await crypto.subtle.generateKey(
    { name: 'ECDSA', namedCurve: 'P-256' },
    true,
    ['sign'],
  )
  const {
    d: _secret,
    ext: _ext,
    key_ops: _ops,
    ...jwk
  } = await crypto.subtle.exportKey('jwk', privateKey)
  const secret = await crypto.subtle.exportKey('jwk', privateKey)
  await phone.editKept(({ entries }) => {
    const { data } = entries.subscription
    const claims = { ...claimsOf(data.proof), entitlements: { pro: null } }
    data.proof = signJwt(
      { typ: 'access+jwt', kid: 'x', jwk: jwk as never },
      claims,
      secret as never,
    )
  })
  expect(await phone.hasAccess()).toBe(false)
})

test('the proof of a test purchase gives no access', async () => {
  await using phone = await createPhone('localStorage')
  const client = phone.start({ isOnline: true })
  await phone.buy({ environment: 'SANDBOX', expiration_day: 60, original_transaction_id: '2000' })
  const sandbox = await client.readSubscription({ environment: 'sandbox', proof: true })
  expect(sandbox.entitlements[0]?.active).toBe(true)
  await phone.editKept(({ entries }) => {
    Object.assign(entries.subscription, { data: { ...sandbox, environment: 'production' } })
  })
  phone.at(40)
  expect(await phone.hasAccess()).toBe(false)
})

test('a phone without WebCrypto checks the signature too', async () => {
  await using phone = await createPhone('localStorage')
  const { subtle } = crypto
  Object.defineProperty(crypto, 'subtle', { value: undefined, configurable: true })
  try {
    phone.at(2)
    expect(await phone.hasAccess()).toBe(true)
    await phone.editKept(({ entries }) => {
      const { data } = entries.subscription
      data.proof = data.proof?.replace(/\.[^.]*$/, `.${'A'.repeat(86)}`)
    })
    expect(await phone.hasAccess()).toBe(false)
  } finally {
    Object.defineProperty(crypto, 'subtle', { value: subtle, configurable: true })
  }
})

test('an unchanged reply that is kept is not sent again', async () => {
  await using phone = await createPhone('localStorage')
  const client = phone.start({ isOnline: true })
  const plans = await client.readPricingPlans()
  const statuses: number[] = []
  phone.network.interceptor.reply = (reply) => {
    statuses.push(reply.status)
    return reply
  }
  expect(await client.readPricingPlans()).toEqual(plans)
  const { refreshed } = await client.readKept('plans')
  expect((await refreshed).data).toEqual(plans)
  expect(statuses).toEqual([304, 304])
})

test('the fake server signs a user’s access', async () => {
  const server = createFakeServer()
  const storage = createStorage('localStorage')
  const { url: baseUrl, now } = server
  const start = (fetch: typeof server.fetch) => createClient({ baseUrl, fetch, now, storage })
  await start(server.fetch).register(LOGIN)
  server.grantSubscription(LOGIN.email, { entitlement: 'pro' })
  await start(server.fetch).readSubscription()
  const offline = () => start(() => Promise.reject(new Error('offline')))
  server.advance({ days: 29 })
  expect(await hasAccess(offline())).toBe(true)
  server.advance({ days: 2 })
  expect(await hasAccess(offline())).toBe(false)
})

type KeptSubscription = {
  data: {
    entitlements: Record<string, unknown>[]
    plan: Record<string, unknown> | null
    proof?: string | undefined
  }
}
type Edit = (entry: KeptSubscription) => void

/** A phone whose user bought a month of access on day 0, and used the app on day 1. */
async function createPhone(kind: 'localStorage' | 'a keychain') {
  const app = await createTestApp({ RATE_LIMITS: 'off' })
  const network = networkTo(app)
  const storage = createStorage(kind)
  const phone = {
    network,
    storage,
    options: {} as { signingKeys?: string[] },
    at: (day: number) => app.clock.advance(T0 + day * DAY - app.clock.now.getTime()),
    start({ isOnline = false } = {}) {
      const fetch = isOnline ? network.fetch : () => Promise.reject(new Error('offline'))
      const now = () => app.clock.now.getTime()
      return createClient({ baseUrl: 'http://localhost', fetch, now, storage, ...phone.options })
    },
    hasAccess: () => hasAccess(phone.start()),
    buy: async (fields: object) => deliver(app, purchase(await phone.userId(), { ...fields })),
    keys: () => ({ sig: app.services.signingKeys.published()[0] as { kid: string } }),
    async signInAsBob() {
      await phone.start({ isOnline: true }).register({ ...LOGIN, email: 'bob@example.com' })
    },
    async userId() {
      return JSON.parse((await storage.getItem('homeport.session')) ?? '').userId as string
    },
    async editKept(edit: (kept: { entries: { subscription: KeptSubscription } }) => void) {
      const kept = JSON.parse((await storage.getItem(KEPT)) ?? '')
      edit(kept)
      await storage.setItem(KEPT, JSON.stringify(kept))
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  }
  phone.at(0)
  const online = phone.start({ isOnline: true })
  const { user } = await online.register(LOGIN)
  await deliver(app, purchase(user._id, { price_id: 'price_example_pro_year' }))
  phone.at(1)
  await online.readSubscription()
  return phone
}

/** Whether the app, started offline, gives its user access. */
async function hasAccess(client: Client): Promise<boolean> {
  const kept = await client.readKept('subscription', {}, { timeout: 200 }).catch(() => null)
  kept?.refreshed.catch(() => {})
  const isActive = kept?.data.entitlements.some(({ id, active }) => id === 'pro' && active) ?? false
  // A paid plan must not give more access than the entitlement.
  expect(isActive || kept === null || [undefined, 'free'].includes(kept.data.plan?.code)).toBe(true)
  return isActive
}

function createStorage(kind: string): Storage {
  const items = new Map<string, string>()
  const isSlow = kind === 'a keychain'
  const after = <T>(work: () => T) => (isSlow ? simulateDelay(1).then(work) : work()) as T
  return {
    getItem: (key) => after(() => items.get(key) ?? null),
    setItem: (key, value) => after(() => void items.set(key, value)),
    removeItem: (key) => after(() => void items.delete(key)),
  }
}

function setAll(list: object[], fields: object) {
  for (const one of list) Object.assign(one, fields)
}

function claimsOf(proof = ''): Record<string, unknown> {
  return JSON.parse(Buffer.from(proof.split('.')[1] ?? '', 'base64url').toString())
}

/** The proof with claims of access that never ends, under the old signature. */
function withClaims(proof = ''): string {
  const [header, , signature] = proof.split('.')
  const claims = { ...claimsOf(proof), entitlements: { pro: null } }
  return [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
}
