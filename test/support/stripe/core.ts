import type { Events } from './events.ts'
import type { ObjectStore } from './object-store.ts'
import type { Timeline } from './timeline.ts'

/** Settings of the account, as the Dashboard has them. */
export type Account = {
  /** Days from the first failed payment to each retry. */
  retryDays: number[]
  /** What happens to a subscription after the last retry. */
  afterRetries: 'cancel' | 'unpaid' | 'past_due' | 'pause'
  /** Whether a dispute cancels the subscription. */
  cancelsOnDispute: boolean
  /** The status of a subscription while its first bank debit is pending. */
  statusDuringDebit: 'incomplete' | 'active'
  portal: { proration: Proration; appliesDowngradesAtPeriodEnd: boolean }
}

/** `proration_behavior`: on the next invoice, on a separate one, or not at all. */
export type Proration = 'create_prorations' | 'always_invoice' | 'none'

export const DEFAULT_ACCOUNT: Account = {
  retryDays: [1, 3, 5, 7, 9, 11, 13, 14],
  afterRetries: 'cancel',
  cancelsOnDispute: false,
  statusDuringDebit: 'incomplete',
  portal: { proration: 'always_invoice', appliesDowngradesAtPeriodEnd: true },
}

/** The objects that every part of the fake Stripe uses. */
export type Core = {
  timeline: Timeline
  objects: ObjectStore
  events: Events
  account: Account
}
