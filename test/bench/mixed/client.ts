import type { Exchange } from './connection-pool.ts'
import { type Kind, pick, type Random } from './mix.ts'

/** What a generator knows of the people of one server and of what is stored there. */
export type World = {
  port: number
  people: Person[]
  /** Public reads, with the tag that the server answers; null where it knows none. */
  reads: { path: string; etag: string | null }[]
  /** Paths of stored pictures. */
  pictures: string[]
  /** The file that is uploaded. */
  photo: string
}

export type Person = {
  id: string
  email: string
  accessToken: string
  /** Empty where the access token itself is exchanged. */
  refreshToken: string
  /** Where a stack answers the subscription. */
  subscription: string
}

/** What a stack has acknowledged; `events` and `uploads` are counts, those that were only sent included in `sent`. */
export type Acknowledged = { events: number; uploads: number; sent: number }

/** Speaks the interface of one stack. */
export type Client = {
  port: number
  /** Makes a request, and notes what its reply brings for later ones. */
  exchangeOf: (kind: Kind) => Exchange
  /** Gives every session a fresh token: to be called before a step. */
  renew: () => Promise<void>
  acknowledged: () => Acknowledged
  /** What is not there or wrong though it was acknowledged, in sentences. */
  check: () => Promise<string[]>
}

export const PASSWORD = 'a long password'
export const EMAIL_DOMAIN = 'example.com'
export const WEBHOOK_PATH = '/api/webhooks/billing/v1'
/** In ms. */
export const PERIOD = 30 * 24 * 60 * 60 * 1000

type RequestOptions = {
  token?: string
  headers?: Record<string, string>
  json?: unknown
  body?: Uint8Array
}

/** The bytes of a request of HTTP/1.1. */
export function encodeRequest(method: string, path: string, options: RequestOptions = {}): Buffer {
  const { token, json, headers = {} } = options
  const body = json === undefined ? options.body : Buffer.from(JSON.stringify(json))
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1']
  if (token !== undefined) lines.push(`Authorization: Bearer ${token}`)
  if (json !== undefined) lines.push('Content-Type: application/json')
  if (body !== undefined) lines.push(`Content-Length: ${body.length}`)
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body ?? Buffer.alloc(0)])
}

/** Sends a request outside of the load; throws when it is not answered with 200. */
export async function ask<T>(
  port: number,
  method: string,
  path: string,
  { token, json, body, headers }: RequestOptions = {},
): Promise<T> {
  const payload = json === undefined ? body : JSON.stringify(json)
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(payload !== undefined && { body: payload }),
  })
  if (reply.status === 200) return (await reply.json()) as T
  throw new Error(`${method} ${path} is answered ${reply.status}: ${await reply.text()}`)
}

/** Does `work` for each of `list`, two at a time: Homeport refuses hashes that would wait for long. */
export async function forEach<T>(list: readonly T[], work: (one: T, at: number) => Promise<void>) {
  const entries = list.entries()
  const worker = async () => {
    for (const [at, one] of entries) await work(one, at)
  }
  await Promise.all([worker(), worker()])
}

/** An event about the line of a person, of a time that no other event has; it pays until a period after that time. */
export function createEvents() {
  let last = Date.now()
  return (type: 'INITIAL_PURCHASE' | 'RENEWAL', { id, email }: Person) => {
    last = Math.max(Date.now(), last + 1)
    const line = `line-${email}`
    return {
      id: `event-${last}`,
      type,
      event_timestamp_ms: last,
      app_user_id: id,
      original_app_user_id: id,
      aliases: [id],
      product_id: 'prod_example_pro',
      period_type: 'NORMAL',
      purchased_at_ms: last,
      expiration_at_ms: last + PERIOD,
      environment: 'PRODUCTION',
      entitlement_ids: ['pro'],
      transaction_id: `transaction-${last}`,
      original_transaction_id: line,
      store: 'APP_STORE',
      price: 9.99,
      currency: 'USD',
    }
  }
}

/** The pictures of a server. The latest upload is read first, once; else any picture. */
export function createPictureShelf(stored: string[]) {
  const unread: string[] = []
  const uploaded: string[] = []
  return { add, next, uploaded }

  function add(path: string) {
    unread.push(path)
    uploaded.push(path)
  }

  function next(random: Random): string {
    return unread.pop() ?? pick(stored, random)
  }
}
