import { describe, expect, test } from 'bun:test'
import { createClient } from '../../src/client/client.ts'
import { createFakeServer, type SubscriptionState } from '../../src/client/testing/testing.ts'
import { PASSWORD } from '../support/app.ts'
import { clientOf, failureOf } from '../support/network.ts'
import { SCRIPTED_BACKENDS } from '../support/scripted-backends.ts'

const EMAIL = 'ann@example.com'
const LOGIN = { email: EMAIL, password: PASSWORD }
const PLAIN = { env: 'test' }
const DAY_MS = 86_400_000

describe.each(SCRIPTED_BACKENDS)('$name:', ({ open }) => {
  test.each([
    ['active', [true]],
    ['trial', [true]],
    ['grace_period', [true]],
    ['billing_retry', [true]],
    ['cancelled', [false]],
    ['expired', []],
    ['refunded', []],
    ['lifetime', []],
  ] as const)('a deletion lists subscriptions still active: %s', async (state, renewing) => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    const { user } = await client.register(LOGIN)
    const isOver = /expired|grace/.test(state)
    const end = app.clock.now.getTime() + (isOver ? -1000 : 29 * DAY_MS)
    await app.setPurchase(user, state, end)
    const { message, activeSubscriptions = [] } = await client.deleteProfile()
    expect(message).toContain('have been deleted.')
    expect(activeSubscriptions.map(({ willRenew }) => willRenew)).toEqual([...renewing])
    for (const { store, managementUrl } of activeSubscriptions)
      expect([store, managementUrl]).toEqual([
        'APP_STORE',
        'https://apps.apple.com/account/subscriptions',
      ])
  })

  test('the profile has defaults, and null restores them', async () => {
    await using app = await open()
    const { client } = clientOf(app, { ...PLAIN, language: 'pt-br, en' })
    await client.register({ ...LOGIN, name: 'Ann' })
    const changed = await client.changeProfile({
      profile: { locale: 'DE-at', timezone: 'Europe/Berlin', currency: 'EUR' },
      onboardingCompleted: true,
    })
    expect(changed).toMatchObject({
      profile: { name: 'Ann', locale: 'de-AT', timezone: 'Europe/Berlin', currency: 'eur' },
      onboardingCompleted: true,
    })
    const reset = await client.changeProfile({ profile: null, onboardingCompleted: null })
    expect(reset).toMatchObject({
      profile: { name: '', locale: 'pt-BR', currency: 'usd', avatarUrl: null },
      onboardingCompleted: false,
    })
    const bad = { locale: '!', timezone: '+24:00', currency: 'ZZZ' }
    const { details } = await failureOf(client.changeProfile({ profile: bad }))
    expect(details.map(({ path }) => path)).toEqual([
      'profile.locale',
      'profile.timezone',
      'profile.currency',
    ])
  })
})

const STATES: [state: SubscriptionState, endsIn: number][] = [
  ['active', 10],
  ['active', -1],
  ['trial', 3],
  ['trial', -1],
  ['cancelled', 10],
  ['cancelled', -1],
  ['expired', -2],
  ['refunded', 10],
  ['grace_period', -1],
  ['grace_period', -17],
  ['billing_retry', 1],
  ['billing_retry', -1],
  ['lifetime', 10],
]

test.each(STATES)('a %s purchase with %d days left reads as on the server', async (...wanted) => {
  const [real, fake] = await Promise.all(
    SCRIPTED_BACKENDS.map(({ open }) => read(open, wanted[0], wanted[1])),
  )
  expect(fake).toEqual(real as NonNullable<typeof real>)

  async function read(
    open: (typeof SCRIPTED_BACKENDS)[0]['open'],
    state: SubscriptionState,
    endsIn: number,
  ) {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    const { user } = await client.register(LOGIN)
    expect((await client.readSubscription()).plan?.code).toBe('free')
    await app.setPurchase(user, state, app.clock.now.getTime() + endsIn * DAY_MS)
    const { entitlements, subscriptions, plan, limits } = await client.readSubscription()
    const inDays = (value: unknown) =>
      typeof value === 'string' && /^\d{4}-/.test(value)
        ? `in ${Math.round((Date.parse(value) - app.clock.now.getTime()) / DAY_MS)} days`
        : value
    const shown = (value: object = {}) =>
      Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inDays(one)]))
    // The times of detection are not scripted.
    const { unsubscribeDetectedAt, billingIssueDetectedAt, refundedAt, purchasedAt, ...line } =
      subscriptions[0] ?? {}
    const detected = [unsubscribeDetectedAt, billingIssueDetectedAt, refundedAt]
    return {
      entitlement: shown(entitlements[0]),
      line: shown(line),
      detected: detected.map((time) => time !== undefined),
      plan: plan?.code,
      limits,
    }
  }
})

test('omitted settings keep their values, even within a platform', async () => {
  const server = createFakeServer({
    settings: { ios: { latestVersion: '7.7.7' }, features: { newHome: true } },
  })
  const { url: baseUrl, fetch } = server
  const client = createClient({ baseUrl, fetch })
  const { ios, android, ...rest } = await client.readAppSettings()
  expect(ios).toEqual({ ...android, latestVersion: '7.7.7' })
  expect(rest).toMatchObject({ termsUrl: 'https://example.com/terms', features: { newHome: true } })
  const changes = { ios: { supportedVersion: '2.0.0' }, features: { limit: 3 } }
  server.changeContent({ settings: changes })
  expect(await client.readAppSettings()).toEqual({
    ...rest,
    ios: { ...ios, supportedVersion: '2.0.0' },
    android,
    features: { newHome: true, limit: 3 },
  })
})
