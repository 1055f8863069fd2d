import { iso, ms } from './billing.ts'

/** The billing provider's REST API, with one reply to every request. */
export function serveProvider(reply: (request: Request) => Response) {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: reply })
  return { url: `http://127.0.0.1:${server.port}`, [Symbol.dispose]: () => void server.stop(true) }
}

/** The provider's reply on `day`: a subscription that was bought on `purchased` and ends on `expires`. */
export function reportOf(day: number, purchased: number, expires: number) {
  return {
    request_date_ms: ms(day),
    subscriber: {
      entitlements: { pro: { product_identifier: 'prod_example_pro' } },
      subscriptions: {
        prod_example_pro: {
          store: 'app_store',
          is_sandbox: false,
          period_type: 'normal',
          purchase_date: iso(purchased),
          expires_date: iso(expires),
          store_transaction_id: '1001',
          unsubscribe_detected_at: null,
        },
      },
    },
  }
}
