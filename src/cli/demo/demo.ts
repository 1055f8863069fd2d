import { eq, sql } from 'drizzle-orm'
import { RETRY_OF_FAILED_EVENTS } from '../../features/billing/jobs.ts'
import { chunk } from '../../lib/concurrency/chunk.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import { auditChange } from '../../platform/publications/actions.ts'
import type { Services } from '../../server/services.ts'
import { addGeneratedUsers } from './accounts.ts'
import { type GeneratedUser, generateUsers } from './generated-users.ts'
import {
  addFailedEvent,
  addNamedUsers,
  DEMO_USER,
  LOCAL_ORIGIN,
  NAMED_COUNT,
  SIMULATED_FAILURE,
} from './named-users.ts'
import { type DemoEvent, listPurchases } from './purchases.ts'
import { createRandom } from './random.ts'
import { addSamples } from './samples.ts'
import { addWebhooks } from './webhooks.ts'

const USERS = 150
const EVENTS_PER_CHANGE = 100

/** Fills an empty database by calling the services. Does nothing if it already has users or events. Returns a report. */
export async function addDemoData(services: Services): Promise<string> {
  const { db, counting, now } = services
  const { users, billingEvents } = db.tables
  if ((await db.read.$count(users)) + (await db.read.$count(billingEvents)) > 0)
    return 'no demo data was added: the database already has users or events'
  const random = createRandom(2026)
  const generatedUsers = await generateUsers(USERS - NAMED_COUNT, random, now().getTime())
  const namedUserEvents = addNamedUsers(services)
  await addGeneratedUsers(services, generatedUsers)
  const purchases = generatedUsers.flatMap((user) => listPurchases(user, random, now().getTime()))
  const events = [...purchases, ...listUnlinked(now().getTime()), ...(await namedUserEvents)]
  const failedAt = now().getTime() - DAY_MS
  const inOrder = events.toSorted((a, b) => a.at - b.at)
  const isBefore = ({ at }: DemoEvent) => at < failedAt
  await recordEvents(services, inOrder.filter(isBefore))
  await addFailedEvent(services, failedAt)
  await recordEvents(
    services,
    inOrder.filter((event) => !isBefore(event)),
  )
  await backdateEvents(services)
  await addWebhooks(
    services,
    purchases.toSorted((a, b) => a.at - b.at),
  )
  await addSupport(services, generatedUsers)
  await addUsage(services, generatedUsers)
  await addSamples(services)
  await publishSettings(services)
  await counting.run(new AbortController().signal, async () => {})
  const { email, password } = DEMO_USER
  return `demo data added: ${USERS} users; apps can sign in as the app user ${email} with the password "${password}"`
}

/** All jobs except the one that would replay the event whose failure is simulated. */
export async function listDemoJobs({ db, jobs }: Services) {
  const { billingEvents } = db.tables
  const isSimulated = eq(billingEvents.error, SIMULATED_FAILURE)
  const hasFailure = (await db.read.$count(billingEvents, isSimulated)) > 0
  return hasFailure ? jobs.filter(({ name }) => name !== RETRY_OF_FAILED_EVENTS) : jobs
}

async function recordEvents({ db, eventInbox }: Services, events: DemoEvent[]) {
  for (const part of chunk(events, EVENTS_PER_CHANGE)) {
    await db.write(async (tx) => {
      for (const { type, at, fields } of part)
        await eventInbox.recordOwnEvent(tx, type, Math.floor(at), fields)
    })
  }
}

/** Sets the time at which each event arrived to the time at which it happened. */
async function backdateEvents({ db }: Services) {
  const { billingEvents } = db.tables
  const receivedAt = sql`coalesce(${billingEvents.eventAt}, ${billingEvents.receivedAt})` as never
  await db.write(async (tx) => void (await tx.update(billingEvents).set({ receivedAt })))
}

/** Purchases that belong to no user: one made before sign-in, and a test purchase. */
function listUnlinked(now: number): DemoEvent[] {
  const anonymous = '$RCAnonymousID:5d41402abc4b2a76b9719d911017c592'
  return [
    { userId: anonymous, environment: 'PRODUCTION', daysAgo: 3 },
    { userId: `${anonymous.slice(0, -4)}0000`, environment: 'SANDBOX', daysAgo: 2 },
  ].map(({ userId, environment, daysAgo }) => {
    const at = now - daysAgo * DAY_MS
    const transaction = `2000000${daysAgo}80214967`
    const fields = {
      app_user_id: userId,
      environment,
      store: 'APP_STORE',
      product_id: 'prod_example_pro',
      price_id: 'price_example_pro_month',
      entitlement_ids: ['pro'],
      period_type: 'NORMAL',
      original_transaction_id: transaction,
      transaction_id: transaction,
      purchased_at_ms: at,
      expiration_at_ms: at + 30 * DAY_MS,
      currency: 'USD',
      price: 9.99,
      price_in_purchased_currency: 9.99,
      country_code: 'US',
    }
    return { type: 'INITIAL_PURCHASE', at, fields }
  })
}

/** Adds access granted by support, and a note. */
async function addSupport(
  { grants, users, operators, now }: Services,
  generatedUsers: GeneratedUser[],
) {
  const [user] = generatedUsers.slice(-20)
  if (!user) return
  const until = new Date(now().getTime() + 60 * DAY_MS).toISOString()
  const reason = 'Lost her purchase with her old Apple account'
  const grant = { userId: user.id, entitlementId: 'pro', until, by: 'dana', reason }
  const { id } = await grants.create(grant)
  await users.notes.add(user.id, 'Asked by e-mail for two months of Pro.', 'dana')
  await operators.audit.record({
    operator: 'dana',
    origin: LOCAL_ORIGIN.ip,
    action: 'access.grant',
    target: user.id,
    after: { grant: id, entitlementId: 'pro', endsAt: until },
  })
}

/** Records credits that paying users have used this month; some have reached the limit of their plan. */
async function addUsage({ usage, db }: Services, generatedUsers: GeneratedUser[]) {
  const { accessStates } = db.tables
  const paying = await db.read
    .select({ userId: accessStates.userId })
    .from(accessStates)
    .where(eq(accessStates.plan, 'pro_month'))
  const ids = new Set(paying.map(({ userId }) => userId))
  const random = createRandom(5)
  for (const { id } of generatedUsers) {
    if (!ids.has(id)) continue
    const amount = Math.ceil(Math.min(100, random.between(2, 120)))
    await usage.consume({ userId: id, limit: 'aiMonthlyCreditLimit', amount })
    await usage.consume({ userId: id, limit: 'apiRequestLimit', amount: amount * 41 })
  }
}

/** Publishes two settings changes, so that the history is not empty. */
async function publishSettings({ settings, operators }: Services) {
  const edits = [
    { changes: { 'ios.latestVersion': '1.1.0' }, note: 'Version 1.1 is in the store' },
    { changes: { hardPaywall: true }, note: 'Try the hard paywall' },
  ]
  for (const { changes, note } of edits) {
    const change = await settings.set(changes, { author: 'dana', note })
    await operators.audit.record({
      operator: 'dana',
      origin: LOCAL_ORIGIN.ip,
      action: 'settings.publish',
      ...auditChange(change),
    })
  }
}
