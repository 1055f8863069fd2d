import type Stripe from 'stripe'
import type { Checkout, SessionOptions } from '../checkout.ts'
import type { Core } from '../core.ts'
import type { Portal } from '../portal.ts'
import { metadataAt } from './customer-routes.ts'
import { invalid, missing, StripeApiError } from './errors.ts'
import { listAt, type Params, textAt } from './form.ts'
import { portalSession } from './portal-session.ts'
import { type Finder, type Route, retrieval } from './route.ts'

const MINUTE = 60
const PARAMS = [
  'mode',
  'customer',
  'line_items.*.price',
  'line_items.*.quantity',
  'success_url',
  'cancel_url',
  'client_reference_id',
  'metadata.*',
  'subscription_data.metadata.*',
  'subscription_data.trial_period_days',
  'subscription_data.billing_mode.type',
  'subscription_data.trial_settings.end_behavior.missing_payment_method',
  'payment_method_collection',
  'allow_promotion_codes',
  'automatic_tax.enabled',
  'customer_update.address',
  'customer_update.name',
  'tax_id_collection.enabled',
  'billing_address_collection',
  'expires_at',
  'locale',
]

export function checkoutRoutes(
  { timeline }: Core,
  find: Finder,
  checkout: Checkout,
  portal: Portal,
): Route[] {
  const path = '/v1/checkout/sessions'
  const resource = 'checkout_session'
  return [
    {
      method: 'POST',
      path,
      resource,
      access: 'write',
      params: PARAMS,
      required: ['line_items'],
      handle: ({ params, isLive }) => checkout.create(optionsOf(params, isLive)),
    },
    retrieval(find, 'checkout.session', path, resource),
    {
      method: 'POST',
      path: `${path}/:id/expire`,
      resource,
      access: 'write',
      handle: ({ id, isLive }) => expire(find('checkout.session', id, isLive)),
    },
    portalSession(find, portal),
  ]

  function expire(session: Stripe.Checkout.Session) {
    if (session.status !== 'open') {
      throw new StripeApiError(
        {
          message: `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of \`${session.status}\`.`,
        },
        { isSaved: true },
      )
    }
    checkout.expire(session)
    return session
  }

  function optionsOf(params: Params, isLive: boolean): SessionOptions {
    if (textAt(params, 'mode') !== 'subscription') {
      throw invalid('The fake Stripe sells only subscriptions.', 'mode')
    }
    const customer = textAt(params, 'customer')
    const behavior = 'subscription_data.trial_settings.end_behavior.missing_payment_method'
    const collection = textAt(params, 'payment_method_collection') ?? 'always'
    return {
      livemode: isLive,
      expiresAt: expiryOf(params),
      customer: customer === undefined ? null : existingCustomer(customer, isLive),
      lines: listAt(params, 'line_items').map((line, at) => lineOf(line as Params, at, isLive)),
      successUrl: urlOf(params, 'success_url') ?? '',
      cancelUrl: urlOf(params, 'cancel_url'),
      clientReferenceId: referenceOf(params),
      metadata: metadataAt(params, 'metadata') ?? {},
      paymentMethodCollection: collection === 'if_required' ? 'if_required' : 'always',
      allowsPromotionCodes: textAt(params, 'allow_promotion_codes') === 'true',
      hasAutomaticTax: textAt(params, 'automatic_tax.enabled') === 'true',
      subscriptionMetadata: metadataAt(params, 'subscription_data.metadata') ?? {},
      trialDays: wholeNumber(params, 'subscription_data.trial_period_days', 0),
      isFlexible: textAt(params, 'subscription_data.billing_mode.type') !== 'classic',
      missingPaymentMethod: missingMethod(textAt(params, behavior)),
    }
  }

  function existingCustomer(id: string, isLive: boolean): Stripe.Customer {
    const found = find('customer', id, isLive, { param: 'customer', status: 400 })
    if (found.deleted) throw missing('customer', id, { param: 'customer', status: 400 })
    return found
  }

  function lineOf(line: Params, at: number, isLive: boolean) {
    const param = `line_items[${at}][price]`
    const price = find('price', textAt(line, 'price') ?? '', isLive, { param, status: 400 })
    if (!price.active) {
      throw invalid(
        'The price specified is inactive. This field only accepts active prices.',
        param,
      )
    }
    const quantity = wholeNumber(line, 'quantity', 1)
    if (quantity < 1) throw invalid('Quantity must be at least 1.', `line_items[${at}][quantity]`)
    return { price, quantity }
  }

  function expiryOf(params: Params): number {
    const now = timeline.now()
    const at = wholeNumber(params, 'expires_at', now + 24 * 60 * MINUTE)
    if (at < now + 30 * MINUTE) {
      throw invalid(
        'The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation.',
        'expires_at',
      )
    }
    if (at <= now + 24 * 60 * MINUTE) return at
    throw invalid(
      'The `expires_at` timestamp must be less than 24 hours from Checkout Session creation.',
      'expires_at',
    )
  }
}

/** Null if there is none. */
function urlOf(params: Params, name: string): string | null {
  const url = textAt(params, name)
  if (url === undefined && name === 'cancel_url') return null
  if (url === undefined) {
    throw invalid(`Missing required param: ${name}.`, name, 'parameter_missing')
  }
  const isUrl = URL.canParse(url) && /^https?:\/\//.test(url)
  if (!isUrl) throw invalid('Not a valid URL', name, 'url_invalid')
  if (url.length > 5000) throw invalid('URL must be 5000 characters or less', name)
  return url
}

function referenceOf(params: Params): string | null {
  const reference = textAt(params, 'client_reference_id') ?? null
  if (reference === null || /^[\w-]{1,200}$/.test(reference)) return reference
  throw invalid('Invalid `client_reference_id`.', 'client_reference_id')
}

function missingMethod(value: string | undefined): SessionOptions['missingPaymentMethod'] {
  return value === 'cancel' || value === 'pause' ? value : 'create_invoice'
}

function wholeNumber(params: Params, path: string, otherwise: number): number {
  const value = textAt(params, path)
  if (value === undefined) return otherwise
  if (!/^\d+$/.test(value)) {
    throw invalid(`Invalid integer: ${value}`, path, 'parameter_invalid_integer')
  }
  return Number(value)
}
