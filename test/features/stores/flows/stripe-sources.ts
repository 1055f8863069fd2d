import type { Delivery } from '../../../../src/features/billing/inbox/event.ts'
import { toList } from '../../../../src/features/stores/json.ts'
import { createStripeApi } from '../../../../src/features/stores/stripe/api/api.ts'
import { toDelivery } from '../../../../src/features/stores/stripe/events/delivery.ts'
import type { ChargeDocument } from '../../../../src/features/stores/stripe/events/event.ts'
import { readNotification } from '../../../../src/features/stores/stripe/events/notification.ts'
import { readSnapshots } from '../../../../src/features/stores/stripe/events/snapshot.ts'
import {
  EXPANDED,
  type KnownItem,
  readSubscription,
} from '../../../../src/features/stores/stripe/events/state.ts'
import { createClock } from '../../../support/app.ts'
import { ms } from '../../../support/billing.ts'
import { ANN } from '../../../support/flows/events.ts'
import { copy } from '../../../support/stripe/events.ts'
import { startStripe } from '../../../support/stripe/stripe.ts'
import { type Report, reportFromProvider, transactionOf } from './sources.ts'
import type { StripeFlow, StripeScript } from './stripe-flows.ts'

const GRACE_DAYS = 16

/** Runs a flow at Stripe, which is queried whenever it sends events. Both sources report the same transactions. */
export async function runStripeFlow({
  steps,
  events,
  graceDays = GRACE_DAYS,
  account,
}: StripeFlow) {
  const clock = createClock()
  clock.now = new Date(ms(0))
  await using fake = startStripe({ clock, ...(account ? { account } : {}) })
  const keys = { PRODUCTION: fake.keys.live.restricted, SANDBOX: null }
  const api = createStripeApi({ keys, url: fake.url })
  const script = { fake, priceOf } as StripeScript
  const known = new Map<string, KnownItem[]>()
  const waiting = new Set<string>()
  fake.events.listen((event) => {
    const target = readNotification(copy(event) as never, 'PRODUCTION')?.target
    if (target) waiting.add(target.id)
  })
  const reports: Report[] = []
  const [lastDay = 0] = steps.at(-1) ?? []
  for (let hour = 0; hour <= lastDay * 24; hour++) await passHour(hour / 24)
  const billing = events.map((fixture, at) => {
    const atStripe = { ...fixture, store: 'STRIPE', id: `E-${at}`, at: dayOfReport(fixture.at) }
    return reportFromProvider({ ...atStripe, ...transactionOf(fixture, reports) })
  })
  return { billing, store: reports }

  async function passHour(day: number) {
    clock.now = new Date(ms(day))
    fake.runDue()
    for (const [at, step] of steps) if (at === day) step(script)
    const targets = [...waiting]
    waiting.clear()
    for (const id of targets)
      reports.push(...(id.startsWith('sub_') ? await query(id) : [await readCharge(id)]))
  }

  function priceOf(product: string) {
    return fake.createPrice({ product, interval: 'day', intervalCount: 30 })
  }

  async function query(id: string): Promise<Report[]> {
    const params = { expand: EXPANDED }
    const subscription = readSubscription(
      await api.call('PRODUCTION', `subscriptions/${id}`, { params }),
    )
    const { deliveries, items } = readSnapshots({
      subscription,
      environment: 'PRODUCTION',
      known: known.get(id) ?? [],
      userId: ANN,
      graceDays,
      askedAt: clock.now.getTime(),
      orderedAt: clock.now.getTime(),
    })
    known.set(id, items)
    return deliveries.map(reportFromStripe)
  }

  async function readCharge(id: string): Promise<Report> {
    const { refunded, amount, currency, payment_intent } = fake.charge(id)
    const params = { payment: { type: 'payment_intent', payment_intent: String(payment_intent) } }
    const payments = await api.call('PRODUCTION', 'invoice_payments', { params })
    const document: ChargeDocument = {
      charge: id,
      invoice: String(toList(payments['data'])[0]?.['invoice']),
      itemId: script.bought.item().id,
      environment: 'PRODUCTION',
      type: refunded ? 'REFUND' : 'REFUND_REVERSED',
      at: clock.now.getTime(),
      reason: 'CUSTOMER_SUPPORT',
      paidBack: refunded ? { amount, currency: currency.toUpperCase() } : null,
    }
    return reportFromStripe(toDelivery(document))
  }

  /** When the billing provider reports an event: Stripe collects an invoice an hour after the period has begun. */
  function dayOfReport(day: number): number {
    const later = reports.findLast(
      ({ event: { orderedAt } }) => orderedAt >= ms(day) && orderedAt <= ms(day + 1 / 12),
    )
    return later === undefined ? day : (later.event.orderedAt - ms(0)) / 86_400_000
  }
}

function reportFromStripe(delivery: Delivery): Report {
  const { event } = delivery
  return { delivery, event: { ...event, orderedAt: event.at ?? 0 } }
}
