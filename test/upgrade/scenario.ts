import { createHash } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import type { Record } from './archive.ts'

export const BASE_URL = 'https://api.example.com'
export const PASSWORD = 'correct horse battery'
export const WEBHOOK_TOKEN = 'test-webhook-token-0123'

const DAY_MS = 24 * 60 * 60 * 1000
const PUBLIC = ['app_settings', 'pricing_plans', 'faqs', 'content_version', 'currency_rates']
const PERSONAL = ['profile', 'attachments', 'subscription', 'data', 'usage', 'export']
const LISTS = ['operators list', 'settings get', 'api-keys list', 'webhooks list', 'events list']
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAMAAAA7+k+nAAAABlBMVEUqb5f0omEs7PK3AAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAE0lEQVQY02NgQAKMSIBhVGIgJACTEADBhhfUogAAAABJRU5ErkJggg=='

type Session = { accessToken: string; refreshToken: string; user: { _id: string } }

export type Homeport = {
  url: string
  /** Runs a command and returns its outcome, or null if it fails. */
  run: (args: string[]) => Promise<unknown>
  /** Reports what this version cannot do. */
  report: (message: string) => void
}

/**
 * Adds a fixed set of data to an earlier version and records its responses. Versions without an
 * endpoint or a command lack its data.
 */
export async function addData(
  { url, run, report }: Homeport,
  from: Pick<Record, 'commit' | 'schemaVersion'>,
): Promise<Record> {
  const zoe = await registerUser('zoe')
  const yan = await registerUser('yan')
  const sessions = [sessionOf('zoe', zoe), sessionOf('yan', yan)]
  const guest: Session | null = await ask('POST', '/api/auth/guest/v1', { json: {} })
  if (guest) sessions.push(sessionOf('guest', guest))
  const demo: Session | null = await ask('POST', '/api/auth/login/v1', {
    json: { email: 'ann@example.com', password: PASSWORD },
  })
  if (demo) sessions.push(sessionOf('ann', demo))
  const uploads = await addProfiles()
  for (const event of events()) {
    const json = { api_version: '1.0', event }
    await ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json })
  }
  const twoFactor = await setUpTwoFactor()
  const apiKey = await addByCommands()
  return { ...from, sessions, twoFactor, apiKey, ...(await readAnswers()) }

  function sessionOf(user: string, { accessToken, refreshToken }: Session) {
    return { user, accessToken, refreshToken }
  }

  async function registerUser(name: string): Promise<Session> {
    const json = { email: `${name}@example.com`, password: PASSWORD, name }
    const session = await ask('POST', '/api/auth/register/v1', { json })
    if (session === null) throw new Error(`${name} was not registered`)
    return session
  }

  /** Returns the responses to the uploads. */
  async function addProfiles() {
    const profile = { name: 'Zoë 🚢', locale: 'pt-BR', timezone: 'Europe/Berlin', currency: 'EUR' }
    const json = { profile, onboardingCompleted: true }
    const token = zoe.accessToken
    await ask('PATCH', '/api/user/profile/v1', { token, json })
    const upload = '/api/user/attachments/v1?type'
    const image = await ask('POST', `${upload}=publicAsset&compression=true&targetType=webp`, {
      token,
      form: formWith('dot.png', 'image/png', Buffer.from(PICTURE, 'base64')),
    })
    const avatar = { profile: { avatarKey: image[0].key } }
    await ask('PATCH', '/api/user/profile/v1', { token, json: avatar })
    const ticket = Buffer.from('A ticket of a few kilobytes. '.repeat(100))
    const form = formWith('ticket.txt', 'text/plain', ticket)
    const text = await ask('POST', `${upload}=supportTicket`, { token: yan.accessToken, form })
    await ask('PUT', '/api/user/data/v1', { token, json: { theme: 'dark', order: [3, 1, 2] } })
    return [image, text]
  }

  function events() {
    const yanAgain = { id: 'U-6', transferred_from: ['$RCAnonymousID:1'] }
    return [
      purchase('U-1', 'INITIAL_PURCHASE', zoe.user._id, '1000', -35),
      purchase('U-2', 'RENEWAL', zoe.user._id, '1000', -5),
      { ...purchase('U-3', 'INITIAL_PURCHASE', yan.user._id, '2000', -10), store: 'PLAY_STORE' },
      {
        ...purchase('U-4', 'CANCELLATION', yan.user._id, '2000', -10),
        event_timestamp_ms: Date.now() - 2 * DAY_MS,
        cancel_reason: 'UNSUBSCRIBE',
      },
      purchase('U-5', 'INITIAL_PURCHASE', '$RCAnonymousID:1', '3000', -3),
      {
        ...yanAgain,
        type: 'TRANSFER',
        event_timestamp_ms: Date.now() - DAY_MS,
        environment: 'PRODUCTION',
        store: 'APP_STORE',
        transferred_to: [yan.user._id],
      },
      purchase('U-7', 'INITIAL_PURCHASE', 'unknown-user', '4000', -1),
    ]
  }

  async function setUpTwoFactor() {
    const token = yan.accessToken
    const path = '/api/auth/two_factor/v1'
    const offered = await ask('POST', path, { token, json: { password: PASSWORD } })
    if (offered === null) return null
    const code = codeOf(offered.secret, Date.now())
    await ask('POST', `${path}/confirm`, { token, json: { code } })
    return { email: 'yan@example.com', secret: offered.secret as string }
  }

  async function addByCommands(): Promise<string | null> {
    await run(['settings', 'set', 'ios.latestVersion=7.8.9', 'hardPaywall=true'])
    await run(['operators', 'add', 'dana'])
    await run(['webhooks', 'add', 'https://hooks.example.com/in', '--events', 'all'])
    const scopes = 'users:read,subscriptions:read'
    const key = await run(['api-keys', 'create', 'crm', '--scope', scopes])
    return (key as { secret: string } | null)?.secret ?? null
  }

  async function readAnswers() {
    const answers: Record['answers'] = []
    const read = async (path: string, as: string | null, token = '') => {
      const response = await ask('GET', path, { token })
      if (response !== null) answers.push({ path, as, response })
    }
    for (const name of PUBLIC) await read(`/api/user/${name}/v1`, null)
    for (const { user, accessToken } of sessions) {
      for (const name of PERSONAL) await read(`/api/user/${name}/v1`, user, accessToken)
      await read('/api/auth/sessions/v1', user, accessToken)
    }
    if (apiKey !== null) await read(`/api/server/users/v1/${zoe.user._id}`, 'key', apiKey)
    const commands: Record['commands'] = []
    for (const name of LISTS) {
      const outcome = await run(name.split(' '))
      if (outcome !== null) commands.push({ name, outcome })
    }
    const files = await Promise.all(urlsIn([answers, uploads]).map(readFile))
    return { at: new Date().toISOString(), answers, commands, files }
  }

  async function readFile(path: string) {
    const reply = await fetch(url + path)
    if (!reply.ok) throw new Error(`${path}: ${reply.status}`)
    return { path, sha256: sha256(await reply.bytes()) }
  }

  /** The response, or null if this version refuses the request. */
  async function ask(
    method: string,
    path: string,
    { token = '', json, form }: { token?: string; json?: unknown; form?: FormData },
    // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  ): Promise<any> {
    const reply = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: form ?? (json === undefined ? null : JSON.stringify(json)),
    })
    const text = await reply.text()
    if (reply.ok) return JSON.parse(text).response ?? null
    report(`${method} ${path}: ${reply.status}`)
    return null
  }
}

export function codeOf(secret: string, timestamp: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** A purchase of 30 days that began `startDay` days from now. */
function purchase(id: string, type: string, user: string, transaction: string, startDay: number) {
  const start = Date.now() + startDay * DAY_MS
  return {
    id,
    type,
    event_timestamp_ms: start,
    app_user_id: user,
    environment: 'PRODUCTION',
    store: 'APP_STORE',
    product_id: 'prod_example_pro',
    entitlement_ids: ['pro'],
    period_type: 'NORMAL',
    transaction_id: transaction,
    original_transaction_id: transaction,
    purchased_at_ms: start,
    expiration_at_ms: start + 30 * DAY_MS,
    price: 9.99,
  }
}

function formWith(name: string, type: string, bytes: Uint8Array<ArrayBuffer>): FormData {
  const form = new FormData()
  form.append('file', new Blob([bytes], { type }), name)
  return form
}

/** The paths of all files that the responses mention. */
function urlsIn(replies: unknown[]): string[] {
  const urls = JSON.stringify(replies).match(/https:\/\/api\.example\.com\/files\/[^"\\]+/g) ?? []
  return [...new Set(urls.map((found) => found.slice(BASE_URL.length)))]
}
