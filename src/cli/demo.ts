import { and, eq } from 'drizzle-orm'
import { RETRY_OF_FAILED_EVENTS } from '../features/billing/jobs.ts'
import { encodePng } from '../lib/files/png.ts'
import type { Log } from '../lib/log/log.ts'
import { DAY_MS } from '../lib/time/durations.ts'
import { auditChange } from '../platform/publications/actions.ts'
import type { Services } from '../server/services.ts'

const PASSWORD = 'correct horse battery'
const DEVICE = { name: 'Demo phone', sealed: false, platform: 'ios', country: null } as const
const SIMULATED_FAILURE = 'Error: a simulated failure for the demo'
const ORIGIN = { ip: '127.0.0.1', device: DEVICE, baseUrl: '' }

/** The demo users. `laterEvents` lists the events after the purchase. */
const DEMO_USERS = [
  { name: 'Ann', locale: 'en', boughtDaysAgo: 20, laterEvents: [] },
  { name: 'Bob', locale: 'de', boughtDaysAgo: 40, laterEvents: ['RENEWAL'] },
  { name: 'Carla', locale: 'pt-BR', boughtDaysAgo: 25, laterEvents: ['CANCELLATION'] },
  { name: 'Deniz', locale: 'tr', boughtDaysAgo: 31, laterEvents: ['BILLING_ISSUE'] },
  { name: 'Eve', locale: 'fr', boughtDaysAgo: 60, laterEvents: ['EXPIRATION'] },
  { name: 'Farid', locale: 'ar', boughtDaysAgo: null, laterEvents: [] },
  { name: 'Grace', locale: 'en', boughtDaysAgo: 12, laterEvents: ['REFUND'] },
]

/** Fills an empty database by calling the services. Does nothing if it already has users or events. */
export async function addDemoData(services: Services, log: Log) {
  const { db } = services
  const { users, billingEvents } = db.tables
  if ((await db.read.$count(users)) + (await db.read.$count(billingEvents)) > 0) {
    log.info('no demo data was added: the database already has users or events')
    return
  }
  for (const [index, user] of DEMO_USERS.entries()) await addUser(services, user, index)
  await addFailedEvent(services)
  await publishSettings(services)
  log.info(
    { users: DEMO_USERS.length },
    `demo data added: sign in as ann@example.com with the password "${PASSWORD}"`,
  )
}

/** The jobs without the one that would replay the event whose failure is simulated. */
export async function listDemoJobs({ db, jobs }: Services) {
  const { billingEvents } = db.tables
  const isSimulated = eq(billingEvents.error, SIMULATED_FAILURE)
  const hasFailure = (await db.read.$count(billingEvents, isSimulated)) > 0
  return hasFailure ? jobs.filter(({ name }) => name !== RETRY_OF_FAILED_EVENTS) : jobs
}

async function addUser(services: Services, demoUser: (typeof DEMO_USERS)[number], index: number) {
  const { users, accounts, profile, attachments, documents, db } = services
  const { name, locale, boughtDaysAgo, laterEvents } = demoUser
  const email = `${name.toLowerCase()}@example.com`
  const hints = { name, locale, timezone: 'Europe/Berlin' }
  await users.passwordLogin.register({ email, password: PASSWORD, ...hints }, ORIGIN, null)
  const user = await accounts.findByEmail(db.read, email)
  if (!user) throw new Error(`${email} was not registered`)
  const [image] = await attachments.store(
    user.id,
    null,
    async () => [{ ...(await stagePicture(services, index)), fileName: `${name}.png` }],
    { type: 'publicAsset', compression: true, targetType: 'webp' },
    { baseUrl: '', ip: ORIGIN.ip },
  )
  const patch = {
    profile: { avatarKey: image?.key ?? null },
    onboardingCompleted: index % 2 === 0,
  }
  await profile.change(user.id, patch, { locale, timezone: 'utc' }, '')
  await documents.replace(user.id, { theme: 'dark', favorites: [index, index + 1] })
  if (boughtDaysAgo === null) return
  for (const [step, type] of ['INITIAL_PURCHASE', ...laterEvents].entries()) {
    await deliver(services, user.id, type, boughtDaysAgo - step * 30, index)
  }
}

async function deliver(
  { db, eventInbox, now }: Services,
  userId: string,
  type: string,
  daysAgo: number,
  index: number,
) {
  const time = now().getTime() - Math.max(daysAgo, 0) * DAY_MS
  const event = {
    app_user_id: userId,
    environment: 'PRODUCTION',
    store: index % 2 === 0 ? 'APP_STORE' : 'PLAY_STORE',
    product_id: 'prod_example_pro',
    entitlement_ids: ['pro'],
    period_type: 'NORMAL',
    original_transaction_id: `demo-${index}`,
    transaction_id: `demo-${index}`,
    purchased_at_ms: time,
    expiration_at_ms: time + 30 * DAY_MS,
    cancel_reason: type === 'CANCELLATION' ? 'UNSUBSCRIBE' : undefined,
    price: 9.99,
  }
  await db.write((tx) => eventInbox.recordOwnEvent(tx, type, time, event))
}

/** Makes a cancellation by Ann look failed: her purchase does not reflect it until a replay applies it. */
async function addFailedEvent(services: Services) {
  const { db, accounts } = services
  const { subscriptions, billingEvents } = db.tables
  const ann = await accounts.findByEmail(db.read, 'ann@example.com')
  const isAnnsPurchase = eq(subscriptions.purchaseKey, 'PRODUCTION|demo-0')
  const [purchase] = await db.read.select().from(subscriptions).where(isAnnsPurchase)
  if (!ann || !purchase) return
  await deliver(services, ann.id, 'CANCELLATION', 1, 0)
  const isCancellation = and(
    eq(billingEvents.appUserId, ann.id),
    eq(billingEvents.type, 'CANCELLATION'),
  )
  const failure = { outcome: 'failed', error: SIMULATED_FAILURE }
  await db.write(async (tx) => {
    await tx.update(subscriptions).set({ state: purchase.state }).where(isAnnsPurchase)
    await tx.update(billingEvents).set(failure).where(isCancellation)
  })
}

/** Publishes two changes of the settings, so that the history is not empty. */
async function publishSettings({ settings, operators }: Services) {
  const edits = [
    { changes: { 'ios.latestVersion': '1.1.0' }, note: 'Version 1.1 is in the store' },
    { changes: { hardPaywall: true }, note: 'Try the hard paywall' },
  ]
  for (const { changes, note } of edits) {
    const change = await settings.set(changes, { author: 'dana', note })
    await operators.audit.record({
      operator: 'dana',
      origin: ORIGIN.ip,
      action: 'settings.publish',
      ...auditChange(change),
    })
  }
}

async function stagePicture({ staging }: Services, index: number) {
  const bytes = gradient(256, index * 40)
  const tooLarge = () => new Error('the demo image is too large')
  return await staging.receive(chunks(bytes), bytes.length, tooLarge)
}

async function* chunks(bytes: Uint8Array) {
  yield bytes
}

/** A square PNG with a colour gradient. */
function gradient(side: number, shade: number): Buffer {
  const rows = Buffer.alloc(side * (1 + side * 3))
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++)
      rows.set([x, (y + shade) % 256, 200], y * (1 + side * 3) + 1 + x * 3)
  }
  return encodePng({ width: side, height: side, bitDepth: 8, colorType: 2 }, rows)
}
