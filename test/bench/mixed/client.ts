import type { Exchange } from './connection-pool.ts'
import { type Kind, pick, type Random } from './mix.ts'

/** The users and stored data of one server, as known to its load generator. */
export type World = {
  port: number
  users: User[]
  /** Public reads, each with its ETag, or null if the server sends none. */
  reads: { path: string; etag: string | null }[]
  /** Paths of stored images. */
  pictures: string[]
  /** The file to upload. */
  photo: string
}

export type User = {
  id: string
  email: string
  accessToken: string
  /** Empty if the access token itself is exchanged. */
  refreshToken: string
  /** The path of the subscription. */
  subscription: string
}

/** Counts of the events and uploads that a stack has acknowledged; `sent` counts all sent events. */
export type Acknowledged = { events: number; uploads: number; sent: number }

/** A client for one stack's API. */
export type Client = {
  port: number
  /** Builds a request; its response updates the state that later requests need. */
  createExchange: (kind: Kind) => Exchange
  /** Gives every session a fresh token; call it before a step. */
  renew: () => Promise<void>
  acknowledged: () => Acknowledged
  /** Describes acknowledged data that is missing or wrong. */
  check: () => Promise<string[]>
}

export const PASSWORD = 'a long password'
export const EMAIL_DOMAIN = 'example.com'
export const WEBHOOK_PATH = '/api/webhooks/billing/v1'
/** A billing period, in ms. */
export const PERIOD = 30 * 24 * 60 * 60 * 1000

type RequestOptions = {
  token?: string
  headers?: Record<string, string>
  json?: unknown
  body?: Uint8Array
}

type AskOptions = RequestOptions & { expected?: number }

/** The bytes of an HTTP/1.1 request. */
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

/** Sends a request outside the load; throws unless the response's status is `expected`. */
export async function ask<T>(
  port: number,
  method: string,
  path: string,
  { token, json, body, headers, expected = 200 }: AskOptions = {},
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
  if (reply.status === expected) return (await reply.json()) as T
  throw new Error(`${method} ${path} got ${reply.status}: ${await reply.text()}`)
}

/**
 * Runs `work` for each item of `list`, two at a time, because Homeport refuses a password request
 * that would wait too long.
 */
export async function forEachTwoAtATime<T>(
  list: readonly T[],
  work: (item: T, index: number) => Promise<void>,
) {
  const entries = list.entries()
  const worker = async () => {
    for (const [index, item] of entries) await work(item, index)
  }
  await Promise.all([worker(), worker()])
}

/**
 * Returns a function that creates events of a user's purchase. Each event has a unique time and
 * pays for one period from then on.
 */
export function createEventFactory() {
  let last = Date.now()
  return (type: 'INITIAL_PURCHASE' | 'RENEWAL', { id, email }: User) => {
    last = Math.max(Date.now(), last + 1)
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
      original_transaction_id: `line-${email}`,
      store: 'APP_STORE',
      price: 9.99,
      currency: 'USD',
    }
  }
}

/** Paths of images to read: each upload once, the latest first, then random images of `stored`. */
export function createPicturePool(stored: string[]) {
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
