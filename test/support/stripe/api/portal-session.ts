import { isOver } from '../billing/subscriptions.ts'
import type { PortalFields, PortalFlow } from '../objects/portal.ts'
import { PORTAL_CONFIGURATION, type Portal } from '../portal.ts'
import { invalid, missing } from './errors.ts'
import { type Params, textAt } from './form.ts'
import type { Call, Finder, Route } from './route.ts'

const FLOWS = ['subscription_cancel', 'subscription_update', 'payment_method_update']
const OF_SUBSCRIPTION = ['subscription_cancel', 'subscription_update']

/** `POST /v1/billing_portal/sessions`. */
export function portalSession(find: Finder, portal: Portal): Route {
  return {
    method: 'POST',
    path: '/v1/billing_portal/sessions',
    resource: 'customer_portal',
    access: 'write',
    params: [
      'customer',
      'return_url',
      'configuration',
      'locale',
      'flow_data.type',
      ...OF_SUBSCRIPTION.map((type) => `flow_data.${type}.subscription`),
      'flow_data.after_completion.type',
      'flow_data.after_completion.redirect.return_url',
    ],
    required: ['customer'],
    handle: create,
  }

  function create({ params, isLive }: Call) {
    const id = textAt(params, 'customer') ?? ''
    const customer = find('customer', id, isLive, { param: 'customer', status: 400 })
    if (customer.deleted) throw missing('customer', id, { param: 'customer', status: 400 })
    const configuration = textAt(params, 'configuration') ?? PORTAL_CONFIGURATION
    if (configuration !== PORTAL_CONFIGURATION) {
      throw missing('configuration', configuration, { param: 'configuration', status: 400 })
    }
    const returnUrl = textAt(params, 'return_url') ?? null
    if (returnUrl !== null && !URL.canParse(returnUrl)) {
      throw invalid('Not a valid URL', 'return_url', 'url_invalid')
    }
    const flow = flowOf(params, customer.id, isLive)
    return portal.create({ livemode: isLive, customer: customer.id, returnUrl, flow })
  }

  function flowOf(params: Params, customer: string, isLive: boolean): PortalFields['flow'] {
    const type = textAt(params, 'flow_data.type')
    if (type === undefined) return null
    if (!FLOWS.includes(type)) throw invalid(`Invalid flow_data[type]: ${type}`, 'flow_data[type]')
    if (!OF_SUBSCRIPTION.includes(type)) return { type: type as PortalFlow, subscription: null }
    const param = `flow_data[${type}][subscription]`
    const id = textAt(params, `flow_data.${type}.subscription`)
    if (id === undefined) {
      throw invalid(`Missing required param: ${param}.`, param, 'parameter_missing')
    }
    const found = find('subscription', id, isLive, { param, status: 400 })
    if (found.customer !== customer) throw missing('subscription', id, { param, status: 400 })
    if (isOver(found)) throw invalid('The subscription is canceled.', param)
    return { type: type as PortalFlow, subscription: id }
  }
}
