import { Database } from 'bun:sqlite'
import { createHash, timingSafeEqual } from 'node:crypto'
import { importJWK, jwtVerify } from 'jose'

/**
 * The fastest bare program for the same work: Bun.serve and bun:sqlite, nothing else. It uses the
 * database, key and tokens of a data directory that Homeport created.
 */
const [port, path, key, webhookToken] = process.argv.slice(2) as [string, string, string, string]

const db = new Database(path)
for (const pragma of [
  'journal_mode = WAL',
  'synchronous = FULL',
  'foreign_keys = ON',
  'mmap_size = 0',
]) {
  db.run(`PRAGMA ${pragma}`)
}
db.run(
  'CREATE TABLE IF NOT EXISTS log (id TEXT PRIMARY KEY, event_id TEXT UNIQUE, type TEXT, at INTEGER, received_at INTEGER, body BLOB, hash TEXT)',
)
const insertEvent = db.query('INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING')
const readSession = db.query('SELECT user_id, expires_at FROM sessions WHERE id = ?')
const readUser = db.query('SELECT * FROM users WHERE id = ?')
const selectPurchases = db.query(
  'SELECT s.state FROM subscriptions s JOIN billing_aliases a USING (customer_id) WHERE a.app_user_id = ?',
)
const plans = (
  db.query('SELECT fields FROM plans ORDER BY position').all() as { fields: string }[]
).map(({ fields }) => JSON.parse(fields))
const settingsRows = db.query('SELECT key, value FROM settings').all() as {
  key: string
  value: string
}[]

const settings = Object.fromEntries(
  settingsRows.map(({ key: name, value }) => [name, JSON.parse(value)]),
)
const settingsBody = JSON.stringify({ code: 'ok', response: settings })
const settingsTag = `"${createHash('sha256').update(settingsBody).digest('base64url').slice(0, 22)}"`
const publicKey = await importJWK(JSON.parse(key), 'ES256')
const expectedToken = digest(`Bearer ${webhookToken}`)

Bun.serve({
  port: Number(port),
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === '/api/user/app_settings/v1') return readSettings(request)
    if (pathname === '/api/user/profile/v1') return readProfile(request)
    if (pathname === '/api/user/subscription/v1') return readSubscription(request)
    if (pathname === '/api/webhooks/billing/v1') return receiveEvent(request)
    return new Response(null, { status: 404 })
  },
})
console.log('ready')

function readSettings(request: Request): Response {
  const headers = { ...standardHeaders(), etag: settingsTag, 'cache-control': 'public, max-age=60' }
  if (request.headers.get('if-none-match') === settingsTag) {
    return new Response(null, { status: 304, headers })
  }
  return new Response(settingsBody, { headers })
}

/** The user of a token whose session is still open, or null. */
async function findUserId(request: Request): Promise<string | null> {
  const token = request.headers.get('authorization')?.slice('Bearer '.length) ?? ''
  const { payload } = await jwtVerify(token, publicKey, {
    algorithms: ['ES256'],
    typ: 'at+jwt',
    issuer: 'homeport',
    audience: 'homeport',
  })
  const session = readSession.get(String(payload['sid'])) as { user_id: string; expires_at: number }
  const isOpen = session.user_id === payload.sub && session.expires_at > Date.now()
  return isOpen ? session.user_id : null
}

async function readProfile(request: Request): Promise<Response> {
  const userId = await findUserId(request)
  if (userId === null) return new Response(null, { status: 401 })
  const user = readUser.get(userId) as Record<string, string | number>
  const response = {
    _id: user['id'],
    loginType: user['login_type'],
    email: user['email'],
    profile: {
      name: user['name'],
      locale: user['locale'],
      timezone: user['timezone'],
      currency: user['currency'],
    },
    twoFactor: { enabled: false, methods: [], recoveryCodesLeft: 0 },
    onboardingCompleted: user['onboarding_completed'] === 1,
  }
  return reply({ code: 'ok', response })
}

async function readSubscription(request: Request): Promise<Response> {
  const userId = await findUserId(request)
  if (userId === null) return new Response(null, { status: 401 })
  const rows = selectPurchases.all(userId) as { state: string }[]
  const purchases = rows.map(({ state }) => JSON.parse(state).line)
  const now = Date.now()
  const subscriptions = purchases.map((purchase) => ({
    productId: purchase.productId,
    store: purchase.store,
    status: purchase.expiresAt > now && purchase.endedAt === null ? 'active' : 'expired',
    periodType: purchase.periodType,
    purchasedAt: new Date(purchase.purchasedAt).toISOString(),
    expiresAt: new Date(purchase.expiresAt).toISOString(),
    effectiveEndAt: new Date(purchase.endedAt ?? purchase.expiresAt).toISOString(),
    willRenew: purchase.willRenew,
  }))
  const entitlements = purchases.flatMap((purchase) =>
    purchase.entitlementIds.map((id: string) => ({
      id,
      active: purchase.expiresAt > now && purchase.endedAt === null,
      expiresAt: new Date(purchase.expiresAt).toISOString(),
      gracePeriodExpiresAt: null,
      productId: purchase.productId,
      store: purchase.store,
      periodType: purchase.periodType,
      willRenew: purchase.willRenew,
    })),
  )
  const plan = plans[1]
  const { seatLimit, appLimit, keywordLimit, apiRequestLimit } = plan
  const { competitorLimitPerApp, aiMonthlyCreditLimit, storefrontLimit } = plan
  const limits = {
    seatLimit,
    appLimit,
    keywordLimit,
    apiRequestLimit,
    competitorLimitPerApp,
    aiMonthlyCreditLimit,
    storefrontLimit,
  }
  const response = { environment: 'production', entitlements, subscriptions, plan, limits }
  return reply({ code: 'ok', response })
}

async function receiveEvent(request: Request): Promise<Response> {
  if (!timingSafeEqual(digest(request.headers.get('authorization') ?? ''), expectedToken)) {
    return new Response(null, { status: 401 })
  }
  const bytes = await request.bytes()
  const { event } = JSON.parse(Buffer.from(bytes).toString())
  const hash = createHash('sha256').update(bytes).digest('hex')
  const { id, type, event_timestamp_ms: at } = event
  const { changes } = insertEvent.run(Bun.randomUUIDv7(), id, type, at, Date.now(), bytes, hash)
  return reply({ code: changes === 1 ? 'ok' : 'duplicate', message: 'The event is recorded.' })
}

function reply(body: unknown): Response {
  return new Response(JSON.stringify(body), {
    headers: { ...standardHeaders(), 'cache-control': 'no-store' },
  })
}

function standardHeaders() {
  return {
    'content-type': 'application/json',
    'x-request-id': crypto.randomUUID(),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
