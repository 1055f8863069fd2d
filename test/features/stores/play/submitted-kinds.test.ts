import { expect, test } from 'bun:test'
import { PACKAGE_NAME, type Submission } from '../../../support/play-store/formats.ts'
import { advance, drain } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

const MINUTE = 60_000

test.each([
  ['subscription', 'one_time'],
  ['one_time', 'subscription'],
] as const)('a %s submitted as %s is linked and acknowledged', async (kind, wrong) => {
  await using world = await createPlayWorld()
  const { store } = world
  const bought = kind === 'subscription' ? store.buy() : store.buyOnce()
  for (const outcome of ['bound', 'known']) {
    const { results } = await world.submit([{ ...bought.submission(), kind: wrong }])
    expect(results).toMatchObject([{ outcome }])
  }
  const { acknowledgementState } = bought.answer()
  expect(acknowledgementState).toBe('ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED')
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('a purchase of the wrong kind that Google could not describe at first is linked automatically', async () => {
  await using world = await createPlayWorld()
  const { app, api, store } = world
  app.expectErrors()
  api.faults.push(...Array(2).fill({ status: 503 }))
  const bought = store.buyOnce()
  const wrong = { ...bought.submission(), kind: 'subscription' as const }
  expect((await world.submit([wrong])).results).toMatchObject([{ outcome: 'checking' }])
  await drain(world)
  for (let time = 0; time < 3; time++) await advance(world, MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
  expect(bought.answer().acknowledgementState).toBe('ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED')
})

test.each([
  { kind: 'one_time' },
  { kind: undefined },
  { packageName: 'com.example.second' },
] as const)(
  'a wrong submission that Google did not know does not affect a correct one right after it (%j)',
  async (mistake) => {
    await using world = await createPlayWorld({
      PLAY_PACKAGES: `${PACKAGE_NAME},com.example.second`,
    })
    const { api, store } = world
    const bought = store.buy()
    api.faults.push(...Array(3).fill({ status: 404, reason: 'purchaseTokenNotFound' }))
    const wrong = { ...bought.submission(), ...mistake } as Submission
    expect((await world.submit([wrong])).results).toMatchObject([{ code: 'purchase_gone' }])
    api.faults.length = 0
    expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'bound' }])
  },
)

test('a product submitted with the wrong product id can be submitted again immediately', async () => {
  await using world = await createPlayWorld()
  const { api, store } = world
  api.hasProductsV2 = false
  const bought = store.buyOnce()
  const wrong = { ...bought.submission(), productId: 'gems' }
  expect((await world.submit([wrong])).results).toMatchObject([{ code: 'purchase_gone' }])
  expect((await world.submit([bought])).results).toMatchObject([{ outcome: 'bound' }])
})
