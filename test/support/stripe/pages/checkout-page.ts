import type Stripe from 'stripe'
import type { Checkout, CheckoutAction } from '../checkout.ts'
import type { Core } from '../core.ts'
import { unitsOf } from '../currencies.ts'
import type { Deliveries } from '../deliveries.ts'
import { buttons, escapeHtml, page, redirect } from './html.ts'

/** How long Checkout waits for the reply to `checkout.session.completed` before it redirects. */
const REDIRECT_TIMEOUT_MS = 10_000

const ACTIONS: [CheckoutAction | 'cancel', string][] = [
  ['pay', 'Pay'],
  ['decline', 'Card declined'],
  ['authenticate', '3-D Secure'],
  ['debit', 'Bank debit'],
  ['cancel', 'Cancel'],
]
const AUTHENTICATION: [CheckoutAction, string][] = [
  ['confirm', 'Confirm'],
  ['refuse', 'Fail'],
]

/** The page of a checkout session. */
export function createCheckoutPage(
  { timeline, events }: Core,
  checkout: Checkout,
  webhooks: Deliveries,
) {
  return { show, act }

  function show(session: Stripe.Checkout.Session, message = ''): Response {
    timeline.runDue()
    if (session.status === 'expired') return page('This session has expired', '', 410)
    if (session.status === 'complete') return page('You have paid already', '')
    const lines = checkout.linesOf(session).map(({ price, quantity }) => {
      const amount = unitsOf(price.unit_amount ?? 0, price.currency)
      const name = price.nickname ?? price.id
      return `<li>${quantity} × ${escapeHtml(name)}: ${amount} ${price.currency.toUpperCase()}</li>`
    })
    const alert = message === '' ? '' : `<p role="alert">${escapeHtml(message)}</p>`
    return page('Checkout', `<ul>${lines.join('')}</ul>${alert}${buttons(actionsOf(session))}`)
  }

  function actionsOf(session: Stripe.Checkout.Session): [string, string][] {
    const isTrial = session.amount_total === 0
    const needsNoCard = isTrial && session.payment_method_collection === 'if_required'
    return needsNoCard ? [['no_card', 'Start without a card'], ...ACTIONS] : ACTIONS
  }

  async function act(session: Stripe.Checkout.Session, action: string): Promise<Response> {
    timeline.runDue()
    if (action === 'cancel') return redirect(session.cancel_url ?? '/')
    if (session.status !== 'open') return show(session)
    const isComplete = checkout.act(session, action as CheckoutAction)
    if (isComplete) return finish(session)
    if (action === 'authenticate') {
      return page('Your bank asks you to confirm', buttons(AUTHENTICATION))
    }
    const isRefused = action === 'refuse'
    return show(session, isRefused ? 'We could not authenticate you.' : 'Your card was declined.')
  }

  async function finish(session: Stripe.Checkout.Session): Promise<Response> {
    const isOwn = ({ object }: { object: { id: string } }) => object.id === session.id
    const completed = events.all.findLast(
      ({ type, data }) => type === 'checkout.session.completed' && isOwn(data),
    )
    if (completed) {
      await Promise.race([webhooks.deliverOne(completed), Bun.sleep(REDIRECT_TIMEOUT_MS)])
    }
    const success = session.success_url ?? '/'
    return redirect(success.replaceAll('{CHECKOUT_SESSION_ID}', session.id))
  }
}
