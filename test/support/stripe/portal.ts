import type Stripe from 'stripe'
import type { Billing } from './billing/billing.ts'
import type { Core } from './core.ts'
import { createPortalObject, type PortalFields } from './objects/portal.ts'

export type Portal = ReturnType<typeof createPortal>

/** The default configuration of the portal. */
export const PORTAL_CONFIGURATION = 'bpc_1FakeDefault'

/** Sessions of the customer portal, where customers change their subscriptions. */
export function createPortal(
  { objects, timeline, events, account }: Core,
  { payments, subscriptions, collection, changes, schedules }: Billing,
  baseUrl: () => string,
) {
  const sessions = new Map<string, Stripe.BillingPortal.Session>()
  return { create, find: (id: string) => sessions.get(id), cancel, undo, switchPrice, replaceCard }

  function create(fields: Omit<PortalFields, 'id' | 'created' | 'url' | 'configuration'>) {
    const id = objects.createId('bps')
    const session = createPortalObject({
      ...fields,
      id,
      created: timeline.now(),
      configuration: PORTAL_CONFIGURATION,
      url: `${baseUrl()}/portal/${id}`,
    })
    sessions.set(id, session)
    return session
  }

  function cancel(subscription: Stripe.Subscription) {
    subscriptions.setCancelAt(subscription)
  }

  function undo(subscription: Stripe.Subscription) {
    subscriptions.undoCancel(subscription)
  }

  /** A cheaper price can wait for the end of the period. */
  function switchPrice(subscription: Stripe.Subscription, price: Stripe.Price) {
    const [item] = subscription.items.data
    if (item === undefined) throw new Error('the subscription has no items')
    const { proration, appliesDowngradesAtPeriodEnd } = account.portal
    const isCheaper = (price.unit_amount ?? 0) < (item.price.unit_amount ?? 0)
    if (isCheaper && appliesDowngradesAtPeriodEnd) schedules.planSwitch(subscription, price)
    else changes.changeItem(subscription, item, { price }, proration)
  }

  /** Replaces the customer's card, and pays open invoices with the new one. */
  function replaceCard(customer: Stripe.Customer, kind: 'pays' | 'declines' | 'asks' = 'pays') {
    const method = payments.addMethod(customer, kind)
    events.update('customer.updated', customer, () => {
      customer.invoice_settings.default_payment_method = method.id
    })
    for (const subscription of objects.list('subscription', customer.livemode)) {
      if (subscription.customer !== customer.id) continue
      events.update('customer.subscription.updated', subscription, () => {
        subscription.default_payment_method = method.id
      })
      if (subscription.status === 'past_due') collection.payAll(subscription)
    }
    return method
  }
}
