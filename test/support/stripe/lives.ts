import { seededRandom } from '../../soak/stores/random.ts'
import { createPrices, nextStripeChange, type StripeChain } from './life.ts'
import type { FakeStripe } from './stripe.ts'
import type { FakeSubscription } from './subscription.ts'

const DAY_MS = 86_400_000
const MONTH = 30 * 86_400

type StartOptions = Parameters<FakeStripe['subscribe']>[0]
type HistoryOptions = {
  seed: number
  count: number
  months: number
  /** Runs every day, for example to deliver events to the server. */
  everyDay?: () => Promise<unknown>
  /** The options of each customer's first subscription. */
  startOptions?: (number: number) => StartOptions
}

/**
 * Runs random histories of customers, the same for the same seed. Events wait for the fake Stripe's `deliver`, which
 * `everyDay` may call. Returns all subscriptions.
 */
export async function runRandomHistories(
  fake: FakeStripe,
  { seed, count, months, everyDay = async () => {}, startOptions = () => ({}) }: HistoryOptions,
): Promise<FakeSubscription[]> {
  const random = seededRandom(seed)
  const all: FakeSubscription[] = []
  const end = fake.now() + months * MONTH
  const beginHistory = createRandomSimulator(fake, { random, end, all })
  for (let number = 0; number < count; number++) {
    const options = { metadata: { homeport_user: `user-${number}` }, ...startOptions(number) }
    fake.schedule(fake.now() + random.upTo(MONTH), () => beginHistory(options))
  }
  while (fake.now() < end) {
    fake.advance(DAY_MS)
    await everyDay()
  }
  return all
}

type Shared = {
  random: ReturnType<typeof seededRandom>
  /** When the last change may happen, in seconds. */
  end: number
  /** Collects every subscription. */
  all: FakeSubscription[]
}

/** Returns a function that begins a history, which continues by the clock of the fake Stripe. */
export function createRandomSimulator(fake: FakeStripe, { random, end, all }: Shared) {
  const prices = createPrices(fake, true)
  return begin

  /** `onChange` gets the billing provider's type of each change; null if it reports none. */
  function begin(options: StartOptions, onChange: (type: string | null) => void = () => {}) {
    const hasTrial = random.chance(0.2)
    const current = fake.subscribe({
      price: prices.monthly[random.upTo(3)] ?? prices.yearly,
      isFlexible: random.chance(0.7),
      missingPaymentMethod: random.chance(0.5) ? 'cancel' : 'pause',
      ...(hasTrial ? { trialDays: 7, card: random.chance(0.3) ? null : 'pays' } : {}),
      ...options,
    })
    all.push(current)
    const chain: StripeChain = { current, all, refund: null, dispute: null }
    takeTurn(chain, onChange)
    return chain
  }

  function takeTurn(chain: StripeChain, onChange: (type: string | null) => void) {
    const turn = {
      wait: 1 + random.upTo(720),
      isAtEnd: random.chance(0.7),
      choice: random.upTo(1_000),
    }
    const now = fake.now() * 1000
    const { at, type, apply } = nextStripeChange(fake, chain, prices, turn, now, MONTH * 1000)
    if (at >= end * 1000) return
    fake.schedule(at / 1000, () => {
      apply()
      onChange(type)
      takeTurn(chain, onChange)
    })
  }
}
