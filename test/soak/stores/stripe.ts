import type { Purchase } from '../../../src/features/billing/purchases/purchase.ts'
import type { Clock } from '../../support/app.ts'
import { describeExpected, describeKnown } from '../../support/stripe/compare.ts'
import { findCustomer, stripeProviderEvent } from '../../support/stripe/histories.ts'
import { createRandomSimulator } from '../../support/stripe/lives.ts'
import { startStripe } from '../../support/stripe/stripe.ts'
import type { StoreSimulation } from './customers.ts'
import { seededRandom } from './random.ts'

const HOUR = 60 * 60 * 1000
/** Stripe sends several events about most changes. */
const PROBABILITIES = { lost: 0.3, late: 0.3, duplicated: 0.1, shuffled: true }

export type StripeCustomer = Pick<StoreSimulation, 'store' | 'current'> & { id: string }

/** `end` is the time of the last change, `tick` the interval of the server's jobs, both in ms. */
export type StripeCustomersOptions = { seed: number; end: number; tick: number }

/** A fake Stripe on the soak's clock, and its customers. */
export function createStripeCustomers(clock: Clock, { seed, end, tick }: StripeCustomersOptions) {
  const fake = startStripe({ clock, seed, probabilities: PROBABILITIES })
  const random = seededRandom(seed)
  // The server reads Stripe's events every hour, and queries the subscription at the next tick.
  const askedWithin = HOUR + tick
  const beginHistory = createRandomSimulator(fake, { random, end: end / 1000, all: [] })
  let changed = new Set<string>()
  fake.events.listen((event) => changed.add(findCustomer(fake, event)))
  return { fake, askedWithin, begin, takeChanged, compare }

  /** `server` is the id of the Homeport server that sold it. `onEvent` gets the billing provider's events. */
  function begin(userId: string, server: string, onEvent: (json: object) => void): StripeCustomer {
    const metadata = { homeport_user: userId, homeport_server: server }
    const report = (type: string | null) => {
      if (type !== null)
        onEvent(stripeProviderEvent(chain.current, type, fake.now() * 1000, userId))
    }
    const chain = beginHistory({ metadata }, report)
    report('INITIAL_PURCHASE')
    return {
      store: 'stripe',
      id: chain.current.customer,
      current: () => {
        const { key, hasAccess, product } = chain.current.firstExpectedState()
        return { key, isActive: hasAccess, productId: product, askedWithin }
      },
    }
  }

  /** The ids of the customers with events since the last call. */
  function takeChanged(): Set<string> {
    const taken = changed
    changed = new Set()
    return taken
  }

  /** The purchases that differ from those of the fake, and those that the fake does not have. */
  function compare(known: Map<string, Purchase>) {
    const now = clock.now.getTime()
    const expected = new Map(
      fake.expectedStates().map((state) => [state.key, describeExpected(state)]),
    )
    const differing = [...expected].flatMap(([key, due]) => {
      const purchase = known.get(key)
      // An item that came and went between two requests was never seen.
      if (!purchase && !due.hasAccess) return []
      return purchase && Bun.deepEquals(describeKnown(key, purchase, now), due) ? [] : [key]
    })
    const unexpected = [...known].flatMap(([key, { store }]) =>
      store === 'STRIPE' && !expected.has(key) ? [key] : [],
    )
    return { differing, unexpected, purchases: expected.size }
  }
}
