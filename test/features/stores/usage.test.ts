import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { serverClient } from '../../support/api-keys.ts'
import { type TestApp, WEBHOOK_TOKEN } from '../../support/app.ts'
import { createWorld, deliver, submit } from '../../support/app-store/world.ts'
import { cases } from '../../support/cases.ts'
import { publishPlans } from '../../support/plans.ts'

const DAY = 24 * 60 * 60 * 1000
const CREDITS = 'aiMonthlyCreditLimit'

/** A world in which the subscription `pro_month` gives 100 credits a month, and everyone else gets none. */
async function createCreditsWorld(transfer = 'on-request') {
  const world = await createWorld(undefined, undefined, { PURCHASE_TRANSFER: transfer })
  const { app } = world
  await publishPlans(app, [
    { code: 'free', [CREDITS]: 0 },
    { code: 'pro', paymentProductId: 'pro_month', [CREDITS]: 100 },
  ])
  const server = await serverClient(app)
  const use = async (userId: string, amount: number) => {
    const json = { userId, limit: CREDITS, amount }
    return (await server('POST', 'usage/v1', { json })).json.response
  }
  return { ...world, use }
}

async function createGuest(app: TestApp) {
  const { response } = (await app.ask('POST', '/api/auth/guest/v1', {})).json
  return toOwner(response)
}

type Session = { accessToken: string; refreshToken: string; user: { _id: string } }

function toOwner({ accessToken, refreshToken, user }: Session) {
  return { token: accessToken, refreshToken, id: user._id }
}

async function refresh(app: TestApp, { refreshToken }: { refreshToken: string }) {
  return toOwner(
    (await app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })).json.response,
  )
}

test('six guests who pass on a purchase share its credits', async () => {
  await using world = await createCreditsWorld()
  const { app, store, use } = world
  const signed = store.buy({ trialDays: 7 }).signedTransaction()
  let used = 0
  for (let guests = 0; guests < 6; guests++) {
    const { token, id } = await createGuest(app)
    await submit(app, token, [signed], true)
    for (let tries = 0; tries < 10; tries++) if ((await use(id, 20)).allowed) used += 20
  }
  expect(used).toBe(100)
})

test('a purchase moves away from guests at most five times a day', async () => {
  await using world = await createCreditsWorld()
  const { app, store } = world
  const signed = store.buy().signedTransaction()
  const results = []
  for (let guests = 0; guests < 7; guests++) {
    const { token } = await createGuest(app)
    results.push((await submit(app, token, [signed], true)).results[0])
    app.clock.advance(60_000)
  }
  expect(results.map((result) => result?.outcome)).toEqual([
    ...Array.from({ length: 6 }, () => 'bound'),
    'refused',
  ])
  const firstMoveAt = app.clock.now.getTime() - 6 * 60_000
  expect(results.at(-1)?.canTakeOverAt).toBe(new Date(firstMoveAt + DAY).toISOString())
})

test('an account that is deleted and created again gets no new allowance', async () => {
  await using world = await createCreditsWorld('never')
  const { app, store, use } = world
  const signed = store.buy().signedTransaction()
  const allowed: boolean[] = []
  for (let accounts = 0; accounts < 3; accounts++) {
    const { user, accessToken: token } = await app.register('again@example.com')
    await submit(app, token, [signed])
    allowed.push((await use(user._id, 60)).allowed)
    await app.ask('DELETE', '/api/user/profile/v1', { token })
  }
  expect(allowed).toEqual([true, false, false])
  const { db } = app.services
  const [row] = await db.read.select().from(db.tables.purchaseUsage)
  expect(Object.keys(row ?? {})).toEqual(['purchaseKey', 'name', 'startsAt', 'endsAt', 'used'])
})

test('the usage of a purchase without a transaction does not identify a deleted user', async () => {
  await using world = await createCreditsWorld()
  const { app, userId, token, use } = world
  const at = app.clock.now.getTime()
  const event = {
    id: crypto.randomUUID(),
    type: 'INITIAL_PURCHASE',
    event_timestamp_ms: at,
    app_user_id: userId,
    environment: 'PRODUCTION',
    store: 'PROMOTIONAL',
    product_id: 'pro_month',
    purchased_at_ms: at,
    expiration_at_ms: at + 30 * DAY,
  }
  await app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json: { event } })
  expect(await use(userId, 60)).toMatchObject({ allowed: true })
  await app.ask('DELETE', '/api/user/profile/v1', { token })
  const { db } = app.services
  const rows = await db.read.select().from(db.tables.purchaseUsage)
  expect(rows).toMatchObject([{ used: 60, purchaseKey: expect.not.stringContaining(userId) }])
})

test('shows a new owner the usage of former owners', async () => {
  await using world = await createCreditsWorld()
  const { app, store, use, token, userId } = world
  const signed = store.buy().signedTransaction()
  const guest = await createGuest(app)
  await submit(app, guest.token, [signed])
  await use(guest.id, 70)
  await submit(app, token, [signed], true)
  const { response } = (await app.ask('GET', '/api/user/usage/v1', { token })).json
  const credits = response.find(({ name }: { name: string }) => name === CREDITS)
  expect(credits).toMatchObject({ used: 70, remaining: 30 })
  expect(await use(userId, -20)).toMatchObject({ used: 50 })
  expect(await use(userId, 51)).toMatchObject({ allowed: false, used: 50 })
})

test('the next period renews the credits, and the usage of the last period is deleted', async () => {
  await using world = await createCreditsWorld()
  const { app, store, use, userId, token } = world
  const bought = store.buy()
  await submit(app, token, [bought.signedTransaction()])
  expect(await use(userId, 100)).toMatchObject({ allowed: true })
  app.clock.advance(30 * DAY)
  await deliver(app, bought.renew())
  expect(await use(userId, 100)).toMatchObject({ allowed: true })
  app.clock.advance(10 * DAY)
  const { db, usage } = app.services
  expect(await db.read.$count(db.tables.purchaseUsage)).toBe(2)
  await usage.archiveAndDeleteOld(new AbortController().signal)
  expect(await db.read.$count(db.tables.purchaseUsage)).toBe(1)
})

test('former owners may take a purchase back once within 30 days', async () => {
  await using world = await createCreditsWorld()
  const { app, store, token } = world
  const signed = store.buy().signedTransaction()
  const guest = await createGuest(app)
  const other = await createGuest(app)
  const take = async (by: string) =>
    (await submit(app, by, [signed], true)).results[0]?.outcome as string
  expect(await take(guest.token)).toBe('bound')
  expect(await take(token)).toBe('bound')
  expect(await take(other.token)).toBe('refused')
  expect(await take(guest.token)).toBe('bound')
  expect(await take(token)).toBe('refused')
  expect(await take(other.token)).toBe('refused')
})

/** The next action on the purchase; `user`: the owner who performs it. */
const step = fc.record({
  act: fc.constantFrom(
    'submit',
    'submit',
    'use',
    'use',
    'use',
    'delete',
    'merge',
    'refund',
    'renew',
    'wait',
  ),
  user: fc.nat(19),
  amount: fc.integer({ min: 1, max: 60 }),
})

test('twenty owners never use more than the limit in a period, in any order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('on-request', 'always', 'never'),
      fc.array(step, { minLength: 20, maxLength: 60 }),
      async (transfer, steps) => {
        await using world = await createCreditsWorld(transfer)
        const { app, store, use } = world
        let count = 0
        const bought = store.buy()
        const owners = await Promise.all(Array.from({ length: 20 }, () => createGuest(app)))
        const usedInPeriod: number[] = [0]
        for (const { act, user, amount } of steps) {
          const owner = owners[user]
          if (!owner) continue
          const { token, id } = owner
          if (act === 'submit') {
            const json = {
              purchases: [{ store: 'app_store', signedTransaction: bought.signedTransaction() }],
              takeOver: true,
            }
            await app.ask('POST', '/api/user/purchases/v1', { token, json })
          } else if (act === 'use') {
            const { allowed } = (await use(id, amount)) ?? {}
            if (allowed) usedInPeriod[usedInPeriod.length - 1] = (usedInPeriod.at(-1) ?? 0) + amount
          } else if (act === 'delete') {
            await app.ask('DELETE', '/api/user/profile/v1', { token })
            owners[user] = await createGuest(app)
          } else if (act === 'merge') {
            const account = await app.register(`owner-${++count}@example.com`, {
              authorization: `Bearer ${token}`,
            })
            owners[user] = toOwner(account)
          } else if (act === 'refund') {
            await deliver(app, bought.refund())
            await deliver(app, bought.reverseRefund())
          } else if (act === 'renew') {
            app.clock.now = new Date(Number(bought.transaction['expiresDate']))
            await deliver(app, bought.renew())
            usedInPeriod.push(0)
            for (const [at, each] of owners.entries()) owners[at] = await refresh(app, each)
          } else app.clock.advance(60_000)
        }
        expect(Math.max(...usedInPeriod)).toBeLessThanOrEqual(100)
      },
    ),
    { numRuns: cases(4, 100) },
  )
}, 120_000)
