import { and, eq } from 'drizzle-orm'
import { differencesBetween, sidesOf } from '../lib/differences.ts'
import { DAY_MS } from '../lib/durations.ts'
import type { Log } from '../lib/log.ts'
import { encodePng } from '../lib/png.ts'
import type { Services } from '../server/services.ts'

const PASSWORD = 'correct horse battery'
const ORIGIN = { ip: '127.0.0.1', device: { name: 'Demo phone', sealed: false }, baseUrl: '' }

/** The demo users: `bought` in days ago, `later` the events after the purchase. */
const DEMO_USERS = [
  { name: 'Ann', locale: 'en', bought: 20, later: [] },
  { name: 'Bob', locale: 'de', bought: 40, later: ['RENEWAL'] },
  { name: 'Carla', locale: 'pt-BR', bought: 25, later: ['CANCELLATION'] },
  { name: 'Deniz', locale: 'tr', bought: 31, later: ['BILLING_ISSUE'] },
  { name: 'Eve', locale: 'fr', bought: 60, later: ['EXPIRATION'] },
  { name: 'Farid', locale: 'ar', bought: null, later: [] },
  { name: 'Grace', locale: 'en', bought: 12, later: ['REFUND'] },
]

/** Fills an empty database by calling the services. Does nothing when it holds users or events. */
export async function addDemoData(services: Services, log: Log) {
  const { db } = services
  const { users, billingEvents } = db.tables
  if ((await db.read.$count(users)) + (await db.read.$count(billingEvents)) > 0) {
    log.info('no demo data: the database holds users or events already')
    return
  }
  for (const [at, user] of DEMO_USERS.entries()) await addUser(services, user, at)
  await addFailedEvent(services)
  await addEdits(services)
  log.info(
    { users: DEMO_USERS.length },
    `demo data added: sign in as ann@example.com with the password "${PASSWORD}"`,
  )
}

async function addUser(services: Services, demoUser: (typeof DEMO_USERS)[number], at: number) {
  const { users, accounts, profile, attachments, db } = services
  const { name, locale, bought, later } = demoUser
  const email = `${name.toLowerCase()}@example.com`
  const hints = { name, locale, timezone: 'europe/berlin' }
  await users.passwordLogin.register({ email, password: PASSWORD, ...hints }, ORIGIN, null)
  const user = await accounts.findByEmail(db.read, email)
  if (!user) throw new Error(`${email} was not registered`)
  const [picture] = await attachments.store(
    user.id,
    null,
    async () => [{ ...(await stagePicture(services, at)), fileName: `${name}.png` }],
    { type: 'publicAsset', compression: true, targetType: 'webp' },
    { baseUrl: '', ip: ORIGIN.ip },
  )
  const patch = {
    profile: { avatarKey: picture?.key ?? null },
    onboardingCompleted: at % 2 === 0,
  }
  await profile.change(user.id, patch, { locale, timezone: 'utc' }, '')
  if (bought === null) return
  for (const [step, type] of ['INITIAL_PURCHASE', ...later].entries()) {
    await deliver(services, user.id, type, bought - step * 30, at)
  }
}

async function deliver(
  { billing, now }: Services,
  userId: string,
  type: string,
  daysAgo: number,
  at: number,
) {
  const time = now().getTime() - Math.max(daysAgo, 0) * DAY_MS
  await billing.recordInternalEvent(type, time, {
    app_user_id: userId,
    environment: 'PRODUCTION',
    store: at % 2 === 0 ? 'APP_STORE' : 'PLAY_STORE',
    product_id: 'prod_example_pro',
    entitlement_ids: ['pro'],
    period_type: 'NORMAL',
    original_transaction_id: `demo-${at}`,
    transaction_id: `demo-${at}`,
    purchased_at_ms: time,
    expiration_at_ms: time + 30 * DAY_MS,
    cancel_reason: type === 'CANCELLATION' ? 'UNSUBSCRIBE' : undefined,
    price: 9.99,
  })
}

/** Makes a cancellation of Ann's look as if it had failed: her purchase ignores it, and a replay applies it. */
async function addFailedEvent(services: Services) {
  const { db, accounts } = services
  const { subscriptions, billingEvents } = db.tables
  const ann = await accounts.findByEmail(db.read, 'ann@example.com')
  const isHers = eq(subscriptions.purchaseKey, 'PRODUCTION|demo-0')
  const [line] = await db.read.select().from(subscriptions).where(isHers)
  if (!ann || !line) return
  await deliver(services, ann.id, 'CANCELLATION', 1, 0)
  const isCancellation = and(
    eq(billingEvents.appUserId, ann.id),
    eq(billingEvents.type, 'CANCELLATION'),
  )
  const failure = { outcome: 'failed', error: 'Error: the demo has refused this event' }
  await db.write(async (tx) => {
    await tx.update(subscriptions).set({ state: line.state }).where(isHers)
    await tx.update(billingEvents).set(failure).where(isCancellation)
  })
}

/** Two edits of the settings, for the history. */
async function addEdits({ settings, operators }: Services) {
  const edits = [
    { changes: { 'ios.latestVersion': '1.1.0' }, note: 'Version 1.1 is in the store' },
    { changes: { hardPaywall: true }, note: 'Try the hard paywall' },
  ]
  for (const { changes, note } of edits) {
    const before = await settings.read()
    await settings.set(changes, { author: 'dana', note })
    const differences = differencesBetween(before, await settings.read())
    await operators.audit.record({
      operator: 'dana',
      origin: ORIGIN.ip,
      action: 'settings.publish',
      ...sidesOf(differences),
    })
  }
}

async function stagePicture({ staging }: Services, at: number) {
  const bytes = gradient(256, at * 40)
  const tooLarge = () => new Error('the demo picture is too large')
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
