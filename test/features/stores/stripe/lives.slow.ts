import { expect, test } from 'bun:test'
import { expectMatchingStates } from '../../../support/stripe/compare.ts'
import { runRandomHistories } from '../../../support/stripe/lives.ts'
import { createStripeWorld } from '../../../support/stripe/world.ts'

const PROBABILITIES = { lost: 0.3, late: 0.2, duplicated: 0.2, shuffled: true }
/** Each run tests the same histories. `STRIPE_LIVES` sets how many, `SEED` which ones. */
const COUNT = Number(process.env['STRIPE_LIVES'] ?? 30)

test('purchases match the expected states of random histories, even if events are lost', async () => {
  const seed = Number(process.env['SEED'] ?? 1)
  await using world = await createStripeWorld({ seed, probabilities: PROBABILITIES })
  const { stripe } = world.app.services.stores
  const serverId = (await stripe?.status.read())?.serverId ?? ''
  let days = 0
  await runRandomHistories(world.stripe, {
    seed,
    count: COUNT,
    months: 6,
    async everyDay() {
      await world.drain()
      // The hourly job finds the lost events of up to 30 days.
      if (++days % 7 === 0) await stripe?.catchUp('PRODUCTION')
    },
    startOptions: (number) => ({
      metadata: { homeport_user: `user-${number}`, homeport_server: serverId },
    }),
  })
  await stripe?.catchUp('PRODUCTION')
  await world.drain()
  await world.drain()
  console.log(`seed ${seed}`)
  await expectMatchingStates(world)
  const { changed } = await world.app.services.rebuildBilling(AbortSignal.timeout(60_000))
  expect(changed).toEqual([])
}, 3_000_000)
