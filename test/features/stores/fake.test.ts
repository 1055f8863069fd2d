import { expect, test } from 'bun:test'
import { createClient } from '../../../src/client/client.ts'
import { createFakeServer, type FakeServer } from '../../../src/client/testing/testing.ts'

const PASSWORD = 'correct horse battery'

function submissionOf(purchaseToken: string, takeOver = false) {
  const purchase = { store: 'play_store' as const, packageName: 'com.example.app', purchaseToken }
  return { purchases: [purchase], takeOver }
}

async function signUp({ url: baseUrl, fetch, now }: FakeServer, email: string) {
  const client = createClient({ baseUrl, fetch, now })
  await client.register({ email, password: PASSWORD })
  return client
}

test('submitted purchases are linked once, then known, and refused to other users for a day', async () => {
  const server = createFakeServer()
  const client = await signUp(server, 'ann@example.com')
  const purchaseToken = server.issuePurchase({ entitlement: 'pro', store: 'PLAY_STORE' })
  const first = await client.submitPurchases(submissionOf(purchaseToken))
  expect(first.results[0]?.outcome).toBe('bound')
  expect(first.subscription.entitlements[0]).toMatchObject({ id: 'pro', active: true })
  const again = await client.submitPurchases(submissionOf(purchaseToken))
  expect(again.results[0]?.outcome).toBe('known')

  const bob = await signUp(server, 'bob@example.com')
  const refused = await bob.submitPurchases(submissionOf(purchaseToken, true))
  expect(refused.results[0]).toMatchObject({ outcome: 'refused', code: 'purchase_of_another' })
  server.advance({ days: 1 })
  const moved = await bob.submitPurchases(submissionOf(purchaseToken, true))
  expect(moved.results[0]?.outcome).toBe('bound')
  expect((await client.readSubscription()).entitlements).toEqual([])
})

test('submitted purchases are refused if no test has issued them', async () => {
  const client = await signUp(createFakeServer(), 'ann@example.com')
  const { results } = await client.submitPurchases(submissionOf('invented'))
  expect(results[0]).toMatchObject({ outcome: 'refused', code: 'purchase_invalid' })
})
