import Stripe from 'stripe'
import { createClock } from '../app.ts'
import { type FakeStripe, type StripeOptions, startStripe } from './stripe.ts'

type Buying = Partial<Stripe.Checkout.SessionCreateParams> & { trialDays?: number }

/** A fake Stripe without a server, and Stripe's own library that talks to it. */
export function createLibraryWorld(options: Partial<StripeOptions> = {}) {
  const clock = createClock()
  clock.now = new Date('2026-10-01T12:00:00Z')
  const fake = startStripe({ clock, ...options })
  const client = connect(fake)
  return { clock, fake, client, openSession, [Symbol.asyncDispose]: fake[Symbol.asyncDispose] }

  /** A new customer opens a session for a new price. */
  async function openSession({ trialDays, ...params }: Buying = {}) {
    const price = fake.createPrice({ nickname: 'Pro' })
    const metadata = { homeport_user: 'user-1' }
    const customer = await client.customers.create({ email: 'ann@example.com', metadata })
    return client.checkout.sessions.create({
      mode: 'subscription',
      customer: customer.id,
      line_items: [{ price: price.id, quantity: 1 }],
      client_reference_id: 'user-1',
      success_url: 'https://app.example.com/done?session_id={CHECKOUT_SESSION_ID}',
      cancel_url: 'https://app.example.com/plans',
      ...params,
      subscription_data: {
        metadata,
        billing_mode: { type: 'flexible' },
        ...(trialDays === undefined ? {} : { trial_period_days: trialDays }),
      },
    })
  }
}

/** Stripe's library with a key of the fake Stripe. */
export function connect(fake: FakeStripe, key = fake.keys.live.restricted): Stripe {
  const { hostname, port } = new URL(fake.url)
  return new Stripe(key, { host: hostname, port, protocol: 'http', maxNetworkRetries: 0 })
}
