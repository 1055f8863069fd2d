import { http } from '../rounds.ts'
import { WEBHOOK_TOKEN } from '../servers.ts'
import { eventFields, timeOf, transferFields } from './large-billing.ts'
import { attachmentKey, emailOf, PASSWORD, refreshTokenOf, userIdOf } from './large-users.ts'
import type { Case } from './latencies.ts'
import { createTokenFactory, findDeletable, randomUser, type Side } from './sides.ts'

/** Password hashing dominates the time. */
const PASSWORD_REQUESTS = 40
/** For requests that transfer from or delete a user, because the empty side has few users. */
const FEW_REQUESTS = 20

type Enveloped<T> = { response: T }

/** Every endpoint that reads or writes data; those that change or delete users come last. */
export async function endpointCases(side: Side): Promise<Case[]> {
  return [
    ...publicCases(),
    ...(await userCases(side)),
    ...billingCases(side),
    ...(await accountCases(side)),
  ]
}

function publicCases(): Case[] {
  const names = ['app_settings', 'pricing_plans', 'currency_rates', 'content_version', 'faqs']
  const paths = [...names.map((name) => `/api/user/${name}/v1`), '/health', '/ready', '/metrics']
  return paths.map((path) => ({ name: `GET ${path}`, request: () => http('GET', path) }))
}

async function userCases(side: Side): Promise<Case[]> {
  const { size } = side
  const tokenOf = await createTokenFactory(side)
  const uploaded: { at: number; key: string }[] = []
  const refreshed = new Map<number, string>()
  let current = 0
  const userRequest = (method: string, path: string, body?: () => object): Case => ({
    name: `${method} ${path}`,
    isScattered: true,
    request: async () => {
      current = randomUser(size)
      return http(method, path, await tokenOf(current), body && JSON.stringify(body()))
    },
  })
  const attachments = '/api/user/attachments/v1'
  return [
    userRequest('GET', '/api/user/profile/v1'),
    userRequest('PATCH', '/api/user/profile/v1', () => ({ profile: { name: unique('Name') } })),
    userRequest('GET', '/api/user/subscription/v1'),
    userRequest('GET', attachments),
    {
      ...userRequest('GET', `${attachments}/download`),
      request: async () => {
        const at = randomUser(size)
        return http('GET', `${attachments}/download?key=${attachmentKey(at)}`, await tokenOf(at))
      },
    },
    {
      name: 'GET /files, 20 kB',
      request: () =>
        http('GET', `/files/${attachmentKey(randomUser({ ...size, users: size.files }))}`),
    },
    {
      ...userRequest('POST', `${attachments}?type=supportTicket`, () => ({ text: unique('text') })),
      onReply: (body) => {
        const [first] = (JSON.parse(body) as Enveloped<{ key: string }[]>).response
        uploaded.push({ at: current, key: first?.key ?? '' })
      },
    },
    {
      ...userRequest('DELETE', attachments),
      isScattered: false,
      request: async () => {
        const { at, key } = uploaded.pop() ?? { at: 0, key: '' }
        return http('DELETE', `${attachments}?key=${key}`, await tokenOf(at))
      },
    },
    userRequest('GET', '/api/user/export/v1'),
    userRequest('GET', '/api/auth/sessions/v1'),
    {
      ...post('/api/auth/refresh/v1', () => {
        current = randomUser(size)
        return { refreshToken: refreshed.get(current) ?? refreshTokenOf(current) }
      }),
      isScattered: true,
      onReply: (body) => {
        const { refreshToken } = (JSON.parse(body) as Enveloped<{ refreshToken: string }>).response
        refreshed.set(current, refreshToken)
      },
    },
  ]
}

function billingCases({ size }: Side): Case[] {
  const sent: object[] = []
  const renewed: number[] = []
  const anyPurchase = () => Math.floor(Math.random() * size.purchases)
  const renewalOf = (purchase: number, time: number) => {
    const appUserId = userIdOf(purchase % size.users)
    return eventFields({ id: unique('event'), type: 'RENEWAL', purchase, time, appUserId })
  }
  const webhook = (name: string, event: () => object): Case => ({
    name: `webhook: ${name}`,
    request: () => {
      const body = JSON.stringify({ api_version: '1.0', event: event() })
      return http('POST', '/api/webhooks/billing/v1', WEBHOOK_TOKEN, body)
    },
  })
  return [
    {
      ...webhook('renewal', () => {
        const purchase = anyPurchase()
        const event = renewalOf(purchase, Date.now())
        renewed.push(purchase)
        sent.push(event)
        return event
      }),
      isScattered: true,
    },
    webhook('duplicate', () => sent[Math.floor(Math.random() * sent.length)] ?? {}),
    // The cost of a late event depends on later ones, so both sides use purchases that were just renewed.
    webhook('late renewal', () => {
      const purchase = renewed[Math.floor(Math.random() * renewed.length)] ?? 0
      return renewalOf(purchase, timeOf(purchase, 1) + 1)
    }),
    webhook('first purchase', () => {
      const [id, purchase] = [unique('event'), unique('purchase')]
      const appUserId = userIdOf(randomUser(size))
      return eventFields({ id, type: 'INITIAL_PURCHASE', purchase, time: Date.now(), appUserId })
    }),
    webhook('without effect', () => ({ ...renewalOf(anyPurchase(), Date.now()), type: 'TEST' })),
  ]
}

async function accountCases(side: Side): Promise<Case[]> {
  const { size } = side
  const tokenOf = await createTokenFactory(side)
  const deletable = findDeletable(side, 2 * FEW_REQUESTS)
  const email = () => emailOf(randomUser(size))
  return [
    post('/api/auth/guest/v1', () => ({})),
    post('/api/auth/password/v1/forgot', () => ({ email: email() })),
    {
      ...post('/api/auth/login/v1', () => ({ email: email(), password: PASSWORD })),
      requests: PASSWORD_REQUESTS,
    },
    {
      ...post('/api/auth/register/v1', () => ({
        email: `${unique('new')}@example.com`,
        password: PASSWORD,
      })),
      requests: PASSWORD_REQUESTS,
    },
    {
      name: 'webhook: transfer',
      requests: FEW_REQUESTS,
      request: () => {
        const [from, to] = [userIdOf(randomUser(size)), userIdOf(randomUser(size))]
        const body = JSON.stringify({ event: transferFields(unique('transfer'), from, to) })
        return http('POST', '/api/webhooks/billing/v1', WEBHOOK_TOKEN, body)
      },
    },
    {
      name: 'DELETE /api/user/profile/v1',
      requests: FEW_REQUESTS,
      request: async () =>
        http('DELETE', '/api/user/profile/v1', await tokenOf(deletable.pop() ?? 0)),
    },
  ]
}

function post(path: string, body: () => object): Case {
  return {
    name: `POST ${path}`,
    request: () => http('POST', path, undefined, JSON.stringify(body())),
  }
}

let last = 0

/** Makes a word unique across runs. */
function unique(word: string): string {
  return `${word}-${Date.now().toString(36)}-${++last}`
}
