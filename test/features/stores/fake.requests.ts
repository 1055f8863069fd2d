import type { Client } from '../../../src/client/client.ts'
import type { FakeServer } from '../../../src/client/testing/testing.ts'

/** Calls every function of the client that sends a request. */
export async function use(client: Client, server: FakeServer) {
  for (const purchaseToken of [server.issuePurchase(), 'invented']) {
    const purchase = { store: 'play_store' as const, packageName: 'com.example', purchaseToken }
    await client.submitPurchases({ purchases: [purchase] })
  }
  const addresses = { successUrl: 'https://app.example', cancelUrl: 'https://app.example' }
  const [plan] = await client.readPricingPlans()
  server.changeContent({ plans: [{ ...plan, source: 'stripe' }] as never })
  const { sessionId } = await client.startCheckout({ plan: plan?.code ?? '', ...addresses })
  await client.submitPurchases({ purchases: [{ store: 'stripe', sessionId }] })
  await client.createPortalLink({ returnUrl: 'https://app.example' })
}
