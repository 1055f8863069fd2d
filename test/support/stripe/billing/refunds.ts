import type Stripe from 'stripe'
import type { Core } from '../core.ts'
import { createRefundObject } from '../objects/payment.ts'

export type Refunds = ReturnType<typeof createRefunds>

/** Full and partial refunds of charges. */
export function createRefunds({ objects, timeline, events }: Core) {
  return { refund, succeed, fail }

  /** `isPending`: `succeed` or `fail` decides the refund later. */
  function refund(charge: Stripe.Charge, amount?: number, { isPending = false } = {}) {
    const rest = charge.amount - charge.amount_refunded
    const value = amount ?? rest
    if (value <= 0 || value > rest) throw new Error(`charge ${charge.id} has only ${rest} left`)
    const identity = { id: objects.createId('re'), created: timeline.now() }
    const status = isPending ? 'pending' : 'succeeded'
    const created = createRefundObject(identity, charge, value, status)
    objects.add('refund', created, charge.livemode)
    setRefunded(charge, charge.amount_refunded + value)
    events.emit('refund.created', created)
    events.emit('charge.refunded', charge)
    return created
  }

  function succeed(refund: Stripe.Refund) {
    expectPending(refund)
    events.update('refund.updated', refund, () => {
      refund.status = 'succeeded'
    })
  }

  /** The bank sends the money back, so the charge counts again. */
  function fail(refund: Stripe.Refund) {
    if (refund.status === 'failed') throw new Error(`refund ${refund.id} has failed already`)
    events.update('refund.updated', refund, () => {
      refund.status = 'failed'
      refund.failure_reason = 'lost_or_stolen_card'
    })
    const charge = objects.read('charge', refund.charge as string)
    setRefunded(charge, charge.amount_refunded - refund.amount)
    events.emit('refund.failed', refund)
  }

  function setRefunded(charge: Stripe.Charge, amount: number) {
    charge.amount_refunded = amount
    charge.refunded = amount === charge.amount
  }

  function expectPending({ id, status }: Stripe.Refund) {
    if (status !== 'pending') throw new Error(`refund ${id} is ${status}`)
  }
}
