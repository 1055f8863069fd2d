import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { cases } from '../../../support/cases.ts'
import { type History, history } from '../../../support/store-histories.ts'
import { expectTruth } from '../../../support/stripe/compare.ts'
import { playOnStripe, runStripeJobs } from '../../../support/stripe/histories.ts'
import { createStripeWorld } from '../../../support/stripe/world.ts'

const DAY = 24 * 60 * 60 * 1000
/** Histories that run at the same time, on one server. */
const BATCH = cases(12, 50)
/** The same batches in each run; `STORE_HISTORIES` and `SEED` choose others. */
const numRuns = Number(process.env['STORE_HISTORIES'] ?? cases(1, 40))
const seed = Number(process.env['SEED'] ?? 1)
const batch = fc.array(history, { minLength: BATCH, maxLength: BATCH })

test('whatever Stripe and the billing provider report, every purchase matches the expected state', async () => {
  await fc.assert(fc.asyncProperty(batch, check), { numRuns, seed, endOnFailure: true })
}, 1_200_000)

async function check(histories: History[]) {
  await using world = await createStripeWorld()
  const { app, stripe: fake } = world
  await playOnStripe({ app, fake }, histories)
  for (let day = 0; day <= 8; day++) {
    fake.advance(DAY)
    await runStripeJobs(app)
    await runStripeJobs(app)
    await app.services.backlog.flush()
    await expectTruth(world)
  }
  expect((await app.services.rebuildBilling(AbortSignal.timeout(60_000))).changed).toEqual([])
}
