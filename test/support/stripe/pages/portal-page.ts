import type Stripe from 'stripe'
import { isOver } from '../billing/subscriptions.ts'
import type { Core } from '../core.ts'
import type { Customers } from '../customers.ts'
import type { Portal } from '../portal.ts'
import { buttons, escapeHtml, page } from './html.ts'

/** The page of a portal session. */
export function createPortalPage(
  { objects, timeline }: Core,
  portal: Portal,
  customers: Customers,
) {
  return { show, act }

  function show(session: Stripe.BillingPortal.Session, message = ''): Response {
    timeline.runDue()
    const { customer, return_url: returnUrl } = session
    const own = customers.subscriptionsOf(objects.customer(customer))
    const sections = own.filter((one) => !isOver(one)).map(describe)
    const back = returnUrl === null ? '' : `<p><a href="${escapeHtml(returnUrl)}">Return</a></p>`
    const alert = message === '' ? '' : `<p role="alert">${escapeHtml(message)}</p>`
    const card = buttons([['replace_card', 'Replace card']])
    return page('Your subscriptions', `${alert}${sections.join('\n')}${card}${back}`)
  }

  function describe(subscription: Stripe.Subscription): string {
    const { id, status, cancel_at } = subscription
    const price = subscription.items.data[0]?.price
    const ends = cancel_at === null ? '' : `, ends ${new Date(cancel_at * 1000).toISOString()}`
    const hidden = `<input type="hidden" name="subscription" value="${id}">`
    const change = cancel_at === null ? 'Cancel at the end of the period' : 'Do not cancel'
    return `<section><h2>${escapeHtml(price?.nickname ?? price?.id ?? id)}</h2>
<p>${status}${ends}</p>
${buttons([[cancel_at === null ? 'cancel' : 'undo', change]], hidden)}
${switchForm(subscription, hidden)}</section>`
  }

  function switchForm(subscription: Stripe.Subscription, hidden: string): string {
    const current = subscription.items.data[0]?.price
    const others = objects
      .list('price', subscription.livemode)
      .filter(
        ({ id, active, currency }) =>
          active && id !== current?.id && currency === current?.currency,
      )
      .map(({ id, nickname }) => `<option value="${id}">${escapeHtml(nickname ?? id)}</option>`)
    if (others.length === 0) return ''
    const select = `<select name="price" aria-label="Price">${others.join('')}</select>`
    return buttons([['switch', 'Switch']], `${hidden}${select}`)
  }

  function act(session: Stripe.BillingPortal.Session, form: Record<string, string>): Response {
    timeline.runDue()
    const { action, subscription: id = '', price = '' } = form
    const customer = objects.customer(session.customer)
    if (action === 'replace_card') {
      portal.replaceCard(customer)
      return show(session, 'Your card was replaced.')
    }
    const subscription = customers.subscriptionsOf(customer).find((one) => one.id === id)
    if (subscription === undefined) return show(session, 'There is no such subscription.')
    if (action === 'cancel') portal.cancel(subscription)
    if (action === 'undo') portal.undo(subscription)
    if (action === 'switch') portal.switchPrice(subscription, objects.read('price', price))
    return show(session, 'Your subscription was changed.')
  }
}
