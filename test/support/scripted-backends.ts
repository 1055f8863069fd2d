import type { UserProfile } from '../../src/client/client.ts'
import type { SubscriptionState } from '../../src/client/testing/testing.ts'
import type { createTestApp } from './app.ts'
import { openFake, openReal, type World } from './backends.ts'
import { deliver } from './billing.ts'
import { codeIn } from './email-codes.ts'
import { startIdentityProvider } from './identity-provider.ts'
import { publishPlans } from './plans.ts'
import { startSmtp, tokenIn } from './smtp.ts'

/** A world in which tests read e-mails and decide what users have bought, and who they are at Google and Apple. */
type ScriptedWorld = World & {
  /** The six-digit code in the next e-mail to this address that has one. */
  nextCode: (email: string) => Promise<string>
  /** The token in the next e-mail to this address that has one. */
  nextToken: (email: string) => Promise<string>
  /** Sets the state of the user's purchase, whose period ends or ended at `end` (ms). */
  setPurchase: (user: UserProfile, state: SubscriptionState, end: number) => Promise<void>
  issueIdToken: (
    provider: 'google' | 'apple',
    identity: { email: string; emailVerified: boolean },
  ) => Promise<string>
}

const DAY_MS = 86_400_000
/** Both servers sell these plans. */
const PLANS = [
  { code: 'free', aiMonthlyCreditLimit: 5 },
  { code: 'pro', paymentProductId: 'pro_month', price: 9.99, aiMonthlyCreditLimit: 100 },
]

export const SCRIPTED_BACKENDS: { name: string; open: () => Promise<ScriptedWorld> }[] = [
  { name: 'server', open: openScriptedServer },
  { name: 'fake server', open: async () => openScriptedFake() },
]

async function openScriptedServer(): Promise<ScriptedWorld> {
  const smtp = await startSmtp()
  const provider = await startIdentityProvider()
  const settings = { BASE_URL: 'http://localhost', SMTP_URL: smtp.url, ATTACHMENT_QUOTA_COUNT: '3' }
  const world = (await openReal(settings, provider)) as World &
    Awaited<ReturnType<typeof createTestApp>>
  await publishPlans(world, PLANS)
  const dispose = world[Symbol.asyncDispose]
  return Object.assign(world, {
    nextToken: async (email: string) => {
      for (;;) {
        const mail = await smtp.next(email)
        if (mail.text.includes('token=')) return tokenIn(mail)
      }
    },
    nextCode: async (email: string) => {
      for (;;) {
        const code = codeIn(await smtp.next(email))
        if (code !== 'none') return code
      }
    },
    setPurchase: async (user: UserProfile, state: SubscriptionState, end: number) => {
      for (const event of eventsOf(user._id, state, end)) await deliver(world, { event })
    },
    issueIdToken: (
      name: 'google' | 'apple',
      { email, emailVerified }: { email: string; emailVerified: boolean },
    ) => {
      const claims = { sub: `${name} ${email}`, email, email_verified: emailVerified }
      return provider.mint(name, claims, { at: world.clock.now })
    },
    [Symbol.asyncDispose]: async () => {
      await dispose()
      provider[Symbol.dispose]()
      await smtp[Symbol.asyncDispose]()
    },
  })
}

function openScriptedFake(): ScriptedWorld {
  const texts = { capabilities: ['trackApp'], features: ['One app'] }
  const plans = PLANS.map((plan) => ({ ...texts, ...plan }))
  const world = openFake({ plans })
  const { server } = world
  return Object.assign(world, {
    nextToken: async (email: string) => {
      const at = server.mails.findIndex(({ to, token }) => to === email && token !== undefined)
      const [mail] = server.mails.splice(at, 1)
      return mail?.token ?? ''
    },
    nextCode: async (email: string) => {
      const at = server.mails.findIndex(({ to, code }) => to === email && code !== undefined)
      return server.mails.splice(at, 1)[0]?.code ?? ''
    },
    setPurchase: async (user: UserProfile, state: SubscriptionState, end: number) =>
      server.grantSubscription(user, { state, expiresAt: end }),
    issueIdToken: async (
      provider: 'google' | 'apple',
      identity: { email: string; emailVerified: boolean },
    ) => server.issueIdToken({ provider, ...identity }),
  })
}

/** The billing provider's events that put a new purchase in a given state. */
function eventsOf(userId: string, state: SubscriptionState, end: number) {
  const common = {
    app_user_id: userId,
    environment: 'PRODUCTION',
    store: 'APP_STORE',
    product_id: 'pro_month',
    entitlement_ids: ['pro'],
    period_type: state === 'trial' ? 'TRIAL' : 'NORMAL',
    transaction_id: userId,
    original_transaction_id: userId,
    purchased_at_ms: end - 30 * DAY_MS,
    expiration_at_ms: state === 'lifetime' ? null : end,
  }
  const event = (type: string, at: number, fields: object = {}) => {
    return { ...common, id: `${userId}-${type}`, type, event_timestamp_ms: at, ...fields }
  }
  const bought = event(
    state === 'lifetime' ? 'NON_RENEWING_PURCHASE' : 'INITIAL_PURCHASE',
    end - 30 * DAY_MS,
  )
  const cancelled = (cancel_reason: string, at: number) =>
    event('CANCELLATION', at, { cancel_reason })
  const failed = (grace: number | null) => [
    event('BILLING_ISSUE', end - DAY_MS, { grace_period_expiration_at_ms: grace }),
    cancelled('BILLING_ERROR', end - DAY_MS + 1),
  ]
  if (state === 'cancelled') return [bought, cancelled('UNSUBSCRIBE', end - 20 * DAY_MS)]
  if (state === 'refunded') return [bought, cancelled('CUSTOMER_SUPPORT', end - 10 * DAY_MS)]
  if (state === 'expired')
    return [bought, event('EXPIRATION', end, { expiration_reason: 'UNSUBSCRIBE' })]
  if (state === 'grace_period') return [bought, ...failed(end + 16 * DAY_MS)]
  if (state === 'billing_retry') return [bought, ...failed(null)]
  return [bought]
}
