import type Stripe from 'stripe'

export function createEndpointObject(
  made: { id: string; created: number; livemode: boolean },
  url: string,
  apiVersion: string,
  enabledEvents: string[],
): Stripe.WebhookEndpoint {
  return {
    ...made,
    object: 'webhook_endpoint',
    api_version: apiVersion,
    application: null,
    description: null,
    enabled_events: enabledEvents,
    metadata: {},
    status: 'enabled',
    url,
  }
}
