import { expect, test } from 'bun:test'
import { runCommand } from '../../../support/commands.ts'
import { createStripeWorld, SHOP, type StripeWorld } from '../../../support/stripe/world.ts'

/** The metadata to set for a customer of another seller. */
async function nameOwner({ app, userId }: StripeWorld) {
  const { outcome } = await runCommand(app, 'stores status')
  return { homeport_user: userId, homeport_server: outcome.stripe.serverId as string }
}

async function catchUpAll(world: StripeWorld) {
  await runCommand(world.app, 'stores catch-up', [], { all: true })
  await world.drain()
}

test('existing customers are found by their metadata, and can open the portal', async () => {
  await using world = await createStripeWorld({ probabilities: { lost: 1 } })
  const fields = { metadata: await nameOwner(world) }
  world.stripe.subscribe({ price: world.prices.pro, fields })
  await catchUpAll(world)
  expect(await world.list()).toMatchObject([{ status: 'active', willRenew: true }])
  const portal = await world.ask('/api/user/billing_portal/v1', { returnUrl: SHOP })
  expect(portal.status).toBe(200)
})

test('a subscription without an owner waits for an operator, if a plan has its price', async () => {
  await using world = await createStripeWorld({ probabilities: { lost: 1 } })
  const { id } = world.stripe.subscribe({ price: world.prices.pro })
  world.stripe.subscribe()
  await catchUpAll(world)
  const unclaimed = await runCommand(world.app, 'purchases list', [], { unclaimed: true })
  expect(unclaimed.printed.split('\n')).toHaveLength(1)
  await runCommand(world.app, 'purchases link', [id, world.userId])
  expect(await world.list()).toMatchObject([{ status: 'active' }])
})

test('a customer with a test clock shows renewals, failed payments and the expiration', async () => {
  await using world = await createStripeWorld()
  const fields = { metadata: await nameOwner(world) }
  const sandbox = world.stripe.createPrice({ amount: 999 }, false)
  const bought = world.stripe.subscribe({ price: sandbox, fields, isLive: false })
  await world.drain()
  const read = async () => (await world.list('sandbox'))[0]
  const first = await read()
  expect(first).toMatchObject({ status: 'active' })
  bought.renew()
  await world.drain()
  expect(Date.parse((await read())?.expiresAt ?? '')).toBeGreaterThan(
    Date.parse(first?.expiresAt ?? ''),
  )
  bought.setCard('declines')
  bought.failToRenew()
  await world.drain()
  expect(await read()).toMatchObject({ status: 'in_grace_period' })
  bought.exhaustRetries()
  await world.drain()
  expect(await read()).toMatchObject({ status: 'expired' })
})
