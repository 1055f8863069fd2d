import type { TestApp } from '../app.ts'
import { expectOk, type History, runHistories, type StoreSimulation } from '../store-histories.ts'
import type { FakeEvent } from './events.ts'
import { createPrices, nextStripeChange, type StripeChain } from './life.ts'
import type { FakeStripe } from './stripe.ts'
import type { FakeSubscription } from './subscription.ts'
import { STRIPE_PATH } from './world.ts'

const DAY_MS = 86_400_000
const SHAPES = ['pinned', 'pinned', 'old', 'thin'] as const

type StripeSetup = { app: TestApp; fake: FakeStripe }

/** Runs histories at Stripe. Returns the subscriptions. */
export async function runStripeHistories(setup: StripeSetup, histories: History[]) {
  const subscriptions: FakeSubscription[] = []
  const begin = await createStripeSimulator(setup, subscriptions)
  await runHistories(setup.app, histories, begin, () => runStripeJobs(setup.app))
  setup.fake.runDue()
  return subscriptions
}

/** Runs the jobs that query Stripe. */
export async function runStripeJobs({ clock, services: { stores } }: TestApp) {
  await stores.stripe?.catchUp('PRODUCTION')
  await stores.stripe?.catchUp('SANDBOX')
  // The events of one purchase share a request.
  clock.advance(3_000)
  await stores.stripe?.queue.flush()
}

/** Returns a function that begins a history: it adds its subscription, and those that follow it, to `subscriptions`. */
export async function createStripeSimulator(
  { app, fake }: StripeSetup,
  subscriptions: FakeSubscription[],
) {
  const status = await app.services.stores.stripe?.status.read()
  const server = { homeport_server: status?.serverId ?? '' }
  const prices = { live: createPrices(fake, true), test: createPrices(fake, false) }
  const mailbox = createMailbox(fake)
  let count = 0
  return begin

  function begin({ isSandbox, turns }: History, _?: number, user?: string): StoreSimulation {
    const isLive = !isSandbox
    const ownPrices = isLive ? prices.live : prices.test
    const choice = turns[0]?.choice ?? 0
    const userId = user ?? `user-${++count}`
    const periodMs = isLive ? 30 * DAY_MS : 7 * DAY_MS
    const price = ownPrices.monthly[choice % 3] ?? ownPrices.yearly
    const bought = fake.subscribe({
      price,
      isLive,
      metadata: { homeport_user: userId, ...server },
      ...startOptions(choice),
    })
    const chain: StripeChain = { current: bought, all: subscriptions, refund: null, dispute: null }
    subscriptions.push(bought)
    return {
      sendFirstMessage: senderOf(mailbox.take(bought.customer), choice),
      next: (turn, now) => {
        fake.runDue()
        const next = nextStripeChange(fake, chain, ownPrices, turn, now, periodMs)
        return {
          at: next.at,
          type: next.type,
          apply: () => {
            fake.runDue()
            next.apply()
            return senderOf(mailbox.take(bought.customer), turn.choice)
          },
        }
      },
      providerEvent: (type, at) => stripeProviderEvent(chain.current, type, at, userId),
    }
  }

  function senderOf(events: FakeEvent[], choice: number) {
    const shape = SHAPES[choice % SHAPES.length]
    return async () => {
      for (const event of events) {
        const endpoint = fake.endpoints[event.livemode ? 'live' : 'test']
        const { body, headers } = fake.webhooks.requestOf(event, endpoint, shape)
        await expectOk(app.ask('POST', STRIPE_PATH, { body, headers }))
      }
      await runStripeJobs(app)
    }
  }
}

function startOptions(choice: number) {
  const hasTrial = choice % 4 === 0
  const behaviors = ['cancel', 'pause', 'create_invoice'] as const
  return {
    isFlexible: choice % 3 !== 0,
    ...(hasTrial ? { trialDays: 7, card: choice % 8 === 0 ? null : ('pays' as const) } : {}),
    missingPaymentMethod: behaviors[choice % 3] ?? 'cancel',
  }
}

/** Collects the events about each customer that endpoints listen to. */
function createMailbox(fake: FakeStripe) {
  const waiting = new Map<string, FakeEvent[]>()
  const isWanted = (type: string) => fake.endpoints.live.object.enabled_events.includes(type)
  fake.events.listen((event) => {
    if (!isWanted(event.type)) return
    const customer = findCustomer(fake, event)
    waiting.set(customer, [...(waiting.get(customer) ?? []), event])
  })
  return { take }

  function take(customer: string): FakeEvent[] {
    const events = waiting.get(customer) ?? []
    waiting.delete(customer)
    return events
  }
}

export function findCustomer(fake: FakeStripe, { data: { object } }: FakeEvent): string {
  if (object.object === 'dispute') return fake.charge(object.charge as string).customer as string
  return 'customer' in object ? (object.customer as string) : object.id
}

/** The billing provider's event about a change that has just happened, sent at `at` (ms). */
export function stripeProviderEvent(
  bought: FakeSubscription,
  type: string,
  at: number,
  userId: string,
) {
  const state = bought.firstExpectedState()
  const reasons: Record<string, string> = {
    CANCELLATION: 'UNSUBSCRIBE',
    REFUND: 'CUSTOMER_SUPPORT',
  }
  const event = {
    id: crypto.randomUUID(),
    type: type === 'REFUND' ? 'CANCELLATION' : type,
    event_timestamp_ms: at,
    app_user_id: userId,
    environment: bought.object.livemode ? 'PRODUCTION' : 'SANDBOX',
    store: 'STRIPE',
    product_id: state.product,
    new_product_id: null,
    entitlement_ids: [state.product],
    period_type: state.isTrial ? 'TRIAL' : 'NORMAL',
    purchased_at_ms: state.startsAt,
    expiration_at_ms: state.expiresAt,
    grace_period_expiration_at_ms: state.graceExpiresAt,
    cancel_reason: reasons[type] ?? null,
    transaction_id: state.transactionId,
    original_transaction_id: state.item,
  }
  return { api_version: '1.0', event }
}
