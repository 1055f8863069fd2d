import { expect, test } from 'bun:test'
import { createLibraryWorld } from '../../../support/stripe/library.ts'
import { simulateDelay, until } from '../../../support/until.ts'

/** Presses a button on a page, with the other fields of its form. */
function press(url: string | null, action: string, fields: Record<string, string> = {}) {
  const body = new URLSearchParams({ action, ...fields })
  return fetch(url ?? '', { method: 'POST', body, redirect: 'manual' })
}

test('the Checkout page redirects once the webhook has responded', async () => {
  await using world = createLibraryWorld()
  const { fake } = world
  const gate = Promise.withResolvers<number>()
  const types: unknown[] = []
  fake.webhooks.send = (_, body) => {
    types.push(JSON.parse(body).type)
    return gate.promise
  }
  const session = await world.openSession()
  expect(await (await fetch(session.url ?? '')).text()).toContain('1 × Pro: 9.99 USD')
  let isRedirected = false
  const paying = press(session.url, 'pay').then((response) => {
    isRedirected = true
    return response
  })
  await until(() => types.length > 0, 'the webhook was not called')
  // The server takes its time.
  await simulateDelay(50)
  expect([types, isRedirected]).toEqual([['checkout.session.completed'], false])
  gate.resolve(200)
  const response = await paying
  const success = `https://app.example.com/done?session_id=${session.id}`
  expect([response.status, response.headers.get('location')]).toEqual([303, success])
  expect(await (await fetch(session.url ?? '')).text()).toContain('You have paid already')
})

test('a session stays open after a declined card or a cancellation, and ends by payment or expiry', async () => {
  await using world = createLibraryWorld()
  const { fake } = world
  const session = await world.openSession()
  const { url } = session
  expect(await (await press(url, 'decline')).text()).toContain('Your card was declined.')
  await press(url, 'authenticate')
  expect(await (await press(url, 'refuse')).text()).toContain('could not authenticate')
  expect((await press(url, 'cancel')).headers.get('location')).toBe('https://app.example.com/plans')
  expect(fake.session(session.id).status).toBe('open')
  await press(url, 'authenticate')
  expect((await press(url, 'confirm')).status).toBe(303)
  expect(fake.session(session.id).status).toBe('complete')
  const other = await world.openSession()
  fake.advance(24 * 3_600_000)
  expect((await press(other.url, 'pay')).status).toBe(410)
})

test('the portal cancels, undoes a cancellation, switches the price and replaces the card', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  const subscription = fake.subscribe()
  const { id, customer, object } = subscription
  const [gold, basic] = [fake.createPrice({ amount: 1_999 }), fake.createPrice({ amount: 99 })]
  const { url } = await client.billingPortal.sessions.create({
    customer,
    return_url: 'https://app.example.com/account',
    flow_data: { type: 'subscription_cancel', subscription_cancel: { subscription: id } },
  })
  expect(await (await fetch(url)).text()).toContain('href="https://app.example.com/account"')
  await press(url, 'cancel', { subscription: id })
  expect(object.cancel_at).toBe(subscription.periodEnd())
  await press(url, 'undo', { subscription: id })
  expect(object.cancel_at).toBeNull()
  await press(url, 'switch', { subscription: id, price: gold.id })
  expect(subscription.item().price.id).toBe(gold.id)
  await press(url, 'switch', { subscription: id, price: basic.id })
  expect(subscription.expectedStates()[0]?.pendingPrice).toBe(basic.id)
  subscription.failToRenew()
  await press(url, 'replace_card')
  expect(subscription.status()).toBe('active')
})
