import type { Checkout } from '../checkout.ts'
import type { Core } from '../core.ts'
import type { Customers } from '../customers.ts'
import type { Deliveries } from '../deliveries.ts'
import type { Portal } from '../portal.ts'
import { createCheckoutPage } from './checkout-page.ts'
import { page } from './html.ts'
import { createPortalPage } from './portal-page.ts'

type Deps = {
  core: Core
  checkout: Checkout
  portal: Portal
  customers: Customers
  webhooks: Deliveries
}

/** The pages that customers see. */
export function createPages(
  { core, checkout, portal, customers, webhooks }: Deps,
  respondOtherwise = (_: Request) => page('Not found', '', 404),
) {
  const checkoutPage = createCheckoutPage(core, checkout, webhooks)
  const portalPage = createPortalPage(core, portal, customers)
  return { respond }

  async function respond(request: Request): Promise<Response> {
    const [, kind, id = ''] = new URL(request.url).pathname.split('/')
    if (kind !== 'pay' && kind !== 'portal') return respondOtherwise(request)
    const form = request.method === 'POST' ? await readForm(request) : null
    if (kind === 'pay') {
      const session = core.objects.find('checkout.session', id)
      if (session === undefined) return page('There is no such session', '', 404)
      return form === null
        ? checkoutPage.show(session)
        : checkoutPage.act(session, form['action'] ?? '')
    }
    const session = portal.find(id)
    if (session === undefined) return page('There is no such session', '', 404)
    return form === null ? portalPage.show(session) : portalPage.act(session, form)
  }
}

async function readForm(request: Request): Promise<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(await request.text()))
}
