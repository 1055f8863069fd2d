import { expect, test } from 'bun:test'
import { PASSWORD, type TestApp } from '../../support/app.ts'
import { createWorld, deliver, submit } from '../../support/app-store/world.ts'

const DAY = 24 * 60 * 60 * 1000
const SUPPORT = { by: 'support@example.com', reason: 'the buyer has shown the receipt' }

async function createGuest(app: TestApp) {
  const { response } = (await app.ask('POST', '/api/auth/guest/v1', {})).json
  return { token: response.accessToken as string, id: response.user._id as string }
}

async function signIn(app: TestApp, email: string, guestToken?: string) {
  const json = { email, password: PASSWORD }
  const bearer = guestToken === undefined ? {} : { token: guestToken }
  const { response } = (await app.ask('POST', '/api/auth/login/v1', { json, ...bearer })).json
  return response.accessToken as string
}

/** A world with a purchase. `take` submits it and returns the outcome. */
async function createPurchase() {
  const world = await createWorld()
  const { app, store } = world
  const bought = store.buy()
  const signed = bought.signedTransaction()
  const take = async (token: string) => {
    const [result] = (await submit(app, token, [signed], true)).results
    return result?.outcome
  }
  return { ...world, bought, take }
}

test('a guest regains a purchase that moved through another guest to an account', async () => {
  await using world = await createPurchase()
  const { app, token: thief, take } = world
  const [owner, between] = [await createGuest(app), await createGuest(app)]
  for (const token of [owner.token, between.token, thief, owner.token])
    expect(await take(token)).toBe('bound')
  for (const token of [between.token, thief]) expect(await take(token)).toBe('refused')
})

test('a guest regains a purchase that two others have passed back and forth', async () => {
  await using world = await createPurchase()
  const { app, take } = world
  const [owner, one, other] = [
    await createGuest(app),
    await createGuest(app),
    await createGuest(app),
  ]
  for (const { token } of [owner, one, other, one, owner]) expect(await take(token)).toBe('bound')
  for (const { token } of [one, other]) expect(await take(token)).toBe('refused')
})

test('an owner who loses a purchase again after 30 days regains it', async () => {
  await using world = await createPurchase()
  const { app, email, take } = world
  const { email: thief } = (await app.register('thief@example.com')).user
  expect(await take(world.token)).toBe('bound')
  app.clock.advance(2 * DAY)
  expect(await take(await signIn(app, thief))).toBe('bound')
  expect(await take(await signIn(app, email))).toBe('bound')
  app.clock.advance(31 * DAY)
  expect(await take(await signIn(app, thief))).toBe('bound')
  expect(await take(await signIn(app, email))).toBe('bound')
})

test('a user cannot take back a purchase that support has linked to another user', async () => {
  await using world = await createPurchase()
  const { app, bought, take, userId, email } = world
  const { email: thief } = (await app.register('thief@example.com')).user
  expect(await take(await signIn(app, thief))).toBe('bound')
  app.clock.advance(2 * DAY)
  const { actions } = app.services.stores
  await actions.link(bought.originalTransactionId, userId, SUPPORT)
  expect(await take(await signIn(app, thief))).toBe('refused')
  expect(await take(await signIn(app, email))).toBe('known')
})

test('a guest who has never submitted the purchase gets it back', async () => {
  await using world = await createWorld()
  const { app, store, token } = world
  const guest = await createGuest(app)
  const bought = store.buy({ userId: guest.id })
  await deliver(app, bought.notification)
  const signed = bought.signedTransaction()
  const take = async (by: string) =>
    (await submit(app, by, [signed], true)).results[0]?.outcome as string
  expect(await take(token)).toBe('bound')
  expect(await take(guest.token)).toBe('bound')
  expect(await take(token)).toBe('refused')
})

test('a guest who has signed in to an account gets the purchase back', async () => {
  await using world = await createPurchase()
  const { app, email, take } = world
  const { email: thief } = (await app.register('thief@example.com')).user
  const guest = await createGuest(app)
  expect(await take(guest.token)).toBe('bound')
  await signIn(app, email, guest.token)
  app.clock.advance(2 * DAY)
  expect(await take(await signIn(app, thief))).toBe('bound')
  expect(await take(await signIn(app, email))).toBe('bound')
  expect(await take(await signIn(app, thief))).toBe('refused')
})
