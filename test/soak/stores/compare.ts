import { readPurchase } from '../../../src/features/billing/projection/fold-state.ts'
import type { createStores, StoreName, StoreSimulation } from './customers.ts'

type Stores = Awaited<ReturnType<typeof createStores>>
type Simulation = Pick<StoreSimulation, 'store' | 'current'>

/** Google's reason for refunding a purchase that is not acknowledged within three days. */
const UNACKNOWLEDGED = 8

/** Compares what the server knows at `now` (ms) with what each store knows. */
export function compareWithStores(
  stores: Stores,
  simulations: Simulation[],
  rows: { purchaseKey: string; state: unknown }[],
  now: number,
) {
  const known = new Map(rows.map((row) => [row.purchaseKey, readPurchase(row.state as never)]))
  const inApps = simulations.filter(({ store }) => store !== 'stripe')
  const differing = inApps.flatMap(({ current }) => {
    const { key, isActive, productId } = current()
    const purchase = known.get(key)
    const ends = [purchase?.expiresAt ?? 0, purchase?.graceExpiresAt ?? 0]
    const isOver = purchase?.endedAt != null || Math.max(...ends) <= now
    const isSame = purchase?.productId === productId && isOver === !isActive
    return isSame ? [] : [key]
  })
  const atStripe = stores.stripe.compare(known)
  const { voided } = stores.playStore
  return {
    purchases: inApps.length + atStripe.purchases,
    differing: [...differing, ...atStripe.differing],
    unexpected: atStripe.unexpected,
    unacknowledged: voided.filter((one) => one.voided.voidedReason === UNACKNOWLEDGED).length,
    maxParallelPerToken: stores.google.maxParallelPerToken,
  }
}

/** The number of requests per paid purchase and month. */
export function countRequests({ google, stripe }: Stores, paidMonths: Record<StoreName, number>) {
  const reads = google.purchaseRequests.filter(({ request }) => request.startsWith('GET'))
  const toStripe = stripe.fake.api.requests.filter(({ request }) => request !== 'GET /v1/events')
  return {
    readsPerPaidMonth: reads.length / paidMonths.play_store,
    requestsPerPaidMonth: google.requests.length / paidMonths.play_store,
    stripeRequestsPerPaidMonth: toStripe.length / paidMonths.stripe,
  }
}
