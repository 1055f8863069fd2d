import { and, eq } from 'drizzle-orm'
import { readPurchase } from '../../features/billing/projection/fold-state.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import type { Services } from '../../server/services.ts'
import { stagePicture } from './picture.ts'
import type { DemoEvent } from './purchases.ts'

/** Ann's credentials, which the documentation uses. */
export const DEMO_USER = { email: 'ann@example.com', password: 'correct horse battery' }
export const LOCAL_ORIGIN = {
  ip: '127.0.0.1',
  device: { name: 'Demo phone', sealed: false, platform: 'ios', country: null },
  baseUrl: '',
} as const
export const ANNS_PURCHASE = 'demo-0'
export const SIMULATED_FAILURE = 'Error: a simulated failure for the demo'

const PERIOD_MS = 30 * DAY_MS
const GRACE_MS = 16 * DAY_MS

/** Users in one typical state each. `laterEvents` lists the events after the purchase. */
const NAMED_USERS = [
  { name: 'Ann', locale: 'en', boughtDaysAgo: 20, laterEvents: [] },
  { name: 'Bob', locale: 'de', boughtDaysAgo: 40, laterEvents: ['RENEWAL'] },
  { name: 'Carla', locale: 'pt-BR', boughtDaysAgo: 25, laterEvents: ['CANCELLATION'] },
  { name: 'Deniz', locale: 'tr', boughtDaysAgo: 31, laterEvents: ['BILLING_ISSUE'] },
  { name: 'Eve', locale: 'fr', boughtDaysAgo: 60, laterEvents: ['EXPIRATION'] },
  { name: 'Farid', locale: 'ar', boughtDaysAgo: null, laterEvents: [] },
  { name: 'Grace', locale: 'en', boughtDaysAgo: 12, laterEvents: ['REFUND'] },
]
/** The index of Grace, who paid by card. */
const DISPUTED = NAMED_USERS.length - 1
const CANCEL_REASONS: Record<string, string> = { CANCELLATION: 'UNSUBSCRIBE', REFUND: 'DISPUTED' }
export const NAMED_COUNT = NAMED_USERS.length

/** Adds the named users. Returns the events of their purchases. */
export async function addNamedUsers(services: Services): Promise<DemoEvent[]> {
  const added = NAMED_USERS.map((user, index) => addNamedUser(services, user, index))
  return (await Promise.all(added)).flat()
}

async function addNamedUser(
  services: Services,
  demoUser: (typeof NAMED_USERS)[number],
  index: number,
): Promise<DemoEvent[]> {
  const { users, accounts, profile, attachments, documents, db, now } = services
  const { name, locale, boughtDaysAgo, laterEvents } = demoUser
  const email = `${name.toLowerCase()}@example.com`
  const hints = { name, locale, timezone: 'Europe/Berlin' }
  const joinedAt = new Date(now().getTime() - ((boughtDaysAgo ?? 5) + 1) * DAY_MS)
  if (email === DEMO_USER.email) {
    await users.passwordLogin.register({ ...DEMO_USER, ...hints }, LOCAL_ORIGIN, null)
  } else {
    const record = { ...hints, line: 0, id: services.newId(), formerId: null, email }
    const rest = { currency: 'usd', createdAt: joinedAt.getTime(), passwordHash: null }
    const user = { ...record, ...rest, emailVerified: true, identities: [] }
    await users.importer.importPart({ users: [user], dryRun: false, kinds: [] })
  }
  const user = await accounts.findByEmail(db.read, email)
  if (!user) throw new Error(`${email} was not registered`)
  const { users: table } = db.tables
  await db.write(async (tx) => {
    await tx.update(table).set({ createdAt: joinedAt }).where(eq(table.id, user.id))
    if (email !== DEMO_USER.email) await users.sessions.open(tx, user, LOCAL_ORIGIN.device)
  })
  const [image] = await attachments.store(
    user.id,
    null,
    async () => [{ ...(await stagePicture(services, index)), fileName: `${name}.png` }],
    { type: 'publicAsset', compression: true, targetType: 'webp' },
    { baseUrl: '', ip: LOCAL_ORIGIN.ip },
  )
  const patch = {
    profile: { avatarKey: image?.key ?? null },
    onboardingCompleted: index % 2 === 0,
  }
  await profile.change(user.id, patch, { locale, timezone: 'utc' }, '')
  await documents.replace(user.id, { theme: 'dark', favorites: [index, index + 1] })
  if (boughtDaysAgo === null) return []
  const boughtAt = now().getTime() - boughtDaysAgo * DAY_MS
  return ['INITIAL_PURCHASE', ...laterEvents].map((type, step) => {
    // No event is in the future, and no two have the same time.
    const latest = now().getTime() - (index / 12) * DAY_MS
    const at = Math.min(boughtAt + step * PERIOD_MS, latest)
    return createEvent(user.id, type, { at, index, startsAt: type === 'RENEWAL' ? at : boughtAt })
  })
}

type EventTimes = { at: number; startsAt: number; index: number }

/** `startsAt` is the start of the period. */
function createEvent(userId: string, type: string, { at, startsAt, index }: EventTimes): DemoEvent {
  const fields = {
    app_user_id: userId,
    environment: 'PRODUCTION',
    store: index === DISPUTED ? 'STRIPE' : index % 2 === 0 ? 'APP_STORE' : 'PLAY_STORE',
    product_id: 'prod_example_pro',
    entitlement_ids: ['pro'],
    period_type: 'NORMAL',
    original_transaction_id: `demo-${index}`,
    transaction_id: type === 'RENEWAL' ? `demo-${index}-2` : `demo-${index}`,
    purchased_at_ms: startsAt,
    expiration_at_ms: startsAt + PERIOD_MS,
    grace_period_expiration_at_ms: type === 'BILLING_ISSUE' ? at + GRACE_MS : undefined,
    cancel_reason: CANCEL_REASONS[type],
    price: 9.99,
  }
  return { type, at, fields }
}

/** Makes a cancellation by Ann look failed: her purchase does not reflect it until a replay applies it. */
export async function addFailedEvent(services: Services, failedAt: number) {
  const { db, accounts, eventInbox } = services
  const { subscriptions, billingEvents, accessStates } = db.tables
  const ann = await accounts.findByEmail(db.read, DEMO_USER.email)
  const isAnnsPurchase = eq(subscriptions.purchaseKey, `PRODUCTION|${ANNS_PURCHASE}`)
  const [purchase] = await db.read.select().from(subscriptions).where(isAnnsPurchase)
  if (!ann || !purchase) return
  const isAnnsAccess = eq(accessStates.userId, ann.id)
  const [access] = await db.read.select().from(accessStates).where(isAnnsAccess)
  const { type, at, fields } = createEvent(ann.id, 'CANCELLATION', {
    at: failedAt,
    startsAt: readPurchase(purchase.state).purchasedAt ?? failedAt,
    index: 0,
  })
  await db.write((tx) => eventInbox.recordOwnEvent(tx, type, at, fields))
  const isCancellation = and(eq(billingEvents.appUserId, ann.id), eq(billingEvents.type, type))
  const failure = { outcome: 'failed', error: SIMULATED_FAILURE }
  await db.write(async (tx) => {
    await tx.update(subscriptions).set({ state: purchase.state }).where(isAnnsPurchase)
    if (access) await tx.update(accessStates).set(access).where(isAnnsAccess)
    await tx.update(billingEvents).set(failure).where(isCancellation)
  })
}
