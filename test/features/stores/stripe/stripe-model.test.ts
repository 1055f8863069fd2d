import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { cases } from '../../../support/cases.ts'
import { type History, history } from '../../../support/store-histories.ts'
import { expectMatchingStates } from '../../../support/stripe/compare.ts'
import { runStripeHistories, runStripeJobs } from '../../../support/stripe/histories.ts'
import { createStripeWorld } from '../../../support/stripe/world.ts'

const DAY = 24 * 60 * 60 * 1000
/** Histories that run at the same time, on one server. */
const BATCH = cases(12, 50)
/** Each run tests the same batches. `STORE_HISTORIES` sets how many, `SEED` which ones. */
const numRuns = Number(process.env['STORE_HISTORIES'] ?? cases(1, 40))
const seed = Number(process.env['SEED'] ?? 1)
const batch = fc.array(history, { minLength: BATCH, maxLength: BATCH })

test('whatever Stripe and the billing provider report, every purchase matches the expected state', async () => {
  await fc.assert(fc.asyncProperty(batch, check), { numRuns, seed, endOnFailure: true })
}, 1_200_000)

async function check(histories: History[]) {
  await using world = await createStripeWorld()
  const { app, stripe: fake } = world
  await runStripeHistories({ app, fake }, histories)
  for (let day = 0; day <= 8; day++) {
    fake.advance(DAY)
    await runStripeJobs(app)
    await runStripeJobs(app)
    await app.services.backlog.flush()
    await expectMatchingStates(world)
  }
  expect((await app.services.rebuildBilling(AbortSignal.timeout(60_000))).changed).toEqual([])
}
