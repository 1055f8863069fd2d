import { expect, test } from 'bun:test'
import { runCommand } from '../../../support/commands.ts'
import { HOMEPORT_PERMISSIONS, type Permissions } from '../../../support/stripe/api/keys.ts'
import { createStripeWorld, STRIPE_PATH } from '../../../support/stripe/world.ts'

const URL = 'https://api.example.com'

/** A world whose webhook has the server's public URL. */
function createReachableWorld() {
  return createStripeWorld({ webhookUrl: `${URL}${STRIPE_PATH}` }, { BASE_URL: URL })
}

test('stores check reports no problems in a complete setup', async () => {
  await using world = await createReachableWorld()
  const { outcome, printed } = await runCommand(world.app, 'stores check')
  expect(outcome.filter(({ fault }: { fault: string | null }) => fault !== null)).toEqual([])
  expect(printed).toContain(`ok\tWebhook URL ${URL}${STRIPE_PATH}`)
})

test('stores check lists what works even if Stripe refuses the key', async () => {
  await using world = await createReachableWorld()
  const { live } = world.stripe.keys
  world.stripe.keys.expire(live.restricted)
  const { printed, isFailure } = await runCommand(world.app, 'stores check')
  expect(printed).toContain('FAILED\tStripe: prices: Stripe refuses the API key.')
  expect(printed).toContain('ok\tStripe sandbox: Prices')
  expect(isFailure).toBe(true)
})

test.each(Object.keys(HOMEPORT_PERMISSIONS) as (keyof Permissions)[])(
  'stores check names the permission %s when the key lacks it',
  async (resource) => {
    await using world = await createReachableWorld()
    const { [resource]: _lacking, ...others } = HOMEPORT_PERMISSIONS
    await world.app.restart({ stripeKey: world.stripe.keys.add(true, others) })
    const { printed } = await runCommand(world.app, 'stores check')
    expect(printed).toContain(`rak_${resource}_read`)
  },
)

test('stores status prints the URL of the webhook and the id for the metadata of customers', async () => {
  await using world = await createReachableWorld()
  const bought = await world.buy()
  const { printed } = await runCommand(world.app, 'stores status')
  const server = bought.object.metadata['homeport_server']
  expect(printed.split('\n')).toEqual([
    `Stripe webhook URL: ${URL}${STRIPE_PATH}`,
    `homeport_server in Stripe's metadata: ${server}`,
    'Stripe\tproduction\t2026-10-01T12:00:00.000Z\tnever',
    'Stripe\tsandbox\tnever\tnever',
    'Waiting for Stripe: 0',
  ])
})
