import { createTestApp } from './app.ts'
import { DAY, T0 } from './billing.ts'
import { signInOperator } from './operator.ts'
import { publishPlans } from './plans.ts'

export const PLANS = [
  { code: 'free', price: 0 },
  { code: 'basic', price: 5, duration: 'month', paymentProductId: 'basic' },
  { code: 'pro', price: 10, duration: 'month', paymentProductId: 'pro', entitlementIds: ['pro'] },
  { code: 'pro_year', price: 90, duration: 'year', paymentProductId: 'pro_year' },
  {
    code: 'team',
    price: 20,
    duration: 'month',
    paymentProductId: 'team',
    entitlementIds: ['pro', 'team_access'],
  },
]

/** A user without purchases on day 1, and an operator. */
export async function createWorld() {
  const app = await createTestApp()
  app.clock.now = new Date(T0 + DAY)
  await publishPlans(app, PLANS)
  const { user, accessToken: token } = await app.register('ann@example.com')
  const operator = await signInOperator(app, { name: 'olga', role: 'operator' })
  const userId: string = user._id
  return {
    app,
    userId,
    email: user.email as string,
    operator,
    read: async () => (await app.ask('GET', '/api/user/subscription/v1', { token })).json.response,
    /** Reads the subscription even after the access token has expired. */
    readLater: async () =>
      (await app.services.subscription.read(userId, 'production', [])).subscription,
    sentence: () => app.services.timeline.explain(userId, 'production'),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  }
}

type World = Awaited<ReturnType<typeof createWorld>>

/** Grants the user access, without an end unless `fields` sets one. */
export function give({ app, userId }: World, entitlementId: string, fields = {}) {
  const grant = { userId, entitlementId, until: null, by: 'ann', reason: 'test', ...fields }
  return app.services.grants.create(grant)
}
