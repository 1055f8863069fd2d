import { randomBytes } from 'node:crypto'
import { WEBHOOK_PATH } from '../../features/billing/model.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import type { Services } from '../../server/services.ts'
import { ANNS_PURCHASE, DEMO_USER } from './named-users.ts'

/** Distinguishes the demo's token from an operator's, which the banner must not show. */
const TOKEN_PREFIX = 'demo-'

export function newDemoToken(): string {
  return TOKEN_PREFIX + randomBytes(18).toString('base64url')
}

/** Lines for the banner: the user that apps can sign in as, and a request that sends a billing event. */
export async function describeDemo(services: Services, address: string): Promise<string[]> {
  const { accounts, config, db, now } = services
  const { email, password } = DEMO_USER
  const ann = await accounts.findByEmail(db.read, email)
  if (!ann) return ['', 'No demo data was added: the database already has users or events.']
  const at = now().getTime()
  const event = {
    id: `renewal-${at.toString(36)}`,
    type: 'RENEWAL',
    event_timestamp_ms: at,
    app_user_id: ann.id,
    store: 'APP_STORE',
    product_id: 'prod_example_pro',
    entitlement_ids: ['pro'],
    original_transaction_id: ANNS_PURCHASE,
    transaction_id: `${ANNS_PURCHASE}-${at.toString(36)}`,
    purchased_at_ms: at,
    expiration_at_ms: at + 30 * DAY_MS,
    price: 9.99,
  }
  const shown = config.webhookTokens.find((token) => token.startsWith(TOKEN_PREFIX))
  const token = shown ?? '$WEBHOOK_TOKEN'
  const headers = `-H "Authorization: Bearer ${token}" -H "Content-Type: application/json"`
  return [
    `  App user       ${email}, password "${password}"`,
    '',
    'Send a renewal for Ann, and watch it arrive in the console under Events:',
    '',
    `curl ${address}${WEBHOOK_PATH} ${headers} -d '${JSON.stringify({ event })}'`,
  ]
}
