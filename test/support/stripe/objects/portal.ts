import type Stripe from 'stripe'

export type PortalFlow = 'subscription_cancel' | 'subscription_update' | 'payment_method_update'
export type PortalFields = {
  id: string
  created: number
  livemode: boolean
  configuration: string
  url: string
  customer: string
  returnUrl: string | null
  flow: { type: PortalFlow; subscription: string | null } | null
}

export function createPortalObject(fields: PortalFields): Stripe.BillingPortal.Session {
  const { id, created, livemode, configuration, url, customer, returnUrl, flow } = fields
  return {
    id,
    object: 'billing_portal.session',
    configuration,
    created,
    customer,
    customer_account: null,
    flow: flow === null ? null : createFlow(flow),
    livemode,
    locale: null,
    on_behalf_of: null,
    return_url: returnUrl,
    url,
  }
}

function createFlow({
  type,
  subscription,
}: NonNullable<PortalFields['flow']>): Stripe.BillingPortal.Session.Flow {
  const id = subscription ?? ''
  return {
    after_completion: { hosted_confirmation: null, redirect: null, type: 'portal_homepage' },
    customer_update: null,
    subscription_cancel:
      type === 'subscription_cancel' ? { retention: null, subscription: id } : null,
    subscription_pause: null,
    subscription_update: type === 'subscription_update' ? { subscription: id } : null,
    subscription_update_confirm: null,
    type,
  }
}
