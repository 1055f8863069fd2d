import { fetchBounded, readTextCapped } from '../../../../lib/net/bounded-fetch.ts'
import { type Json, parseJson, toObject } from '../../../../lib/text/json.ts'
import type { StoredEnvironment } from '../../../billing/environment.ts'
import { text, toList } from '../../json.ts'
import { StripeApiError } from './api-error.ts'

type StripeApiDeps = { keys: Record<StoredEnvironment, string | null>; url: string | null }

/** Nested as in Stripe's documentation; undefined parameters are not sent. */
export type Params = { [name: string]: Param }
type Param = string | number | boolean | undefined | Param[] | Params

type CallOptions = {
  method?: 'GET' | 'POST' | 'DELETE'
  params?: Params
  /** For a day, Stripe gives all requests with the same key the same response. */
  idempotencyKey?: string
  signal?: AbortSignal | undefined
}

export type StripeApi = ReturnType<typeof createStripeApi>

const API_URL = 'https://api.stripe.com'
const API_VERSION = '2026-10-28.endive'
const TIMEOUT_MS = 10_000
const MAX_REPLY_BYTES = 4 * 1024 * 1024
const PAGE_SIZE = 100
/** While another request with the same idempotency key is under way. */
const SAME_REQUEST = { delayMs: 300, attempts: 20 }

/** Every function throws `StripeApiError`. https://docs.stripe.com/api */
export function createStripeApi({ keys, url }: StripeApiDeps) {
  const refused = new Set<StoredEnvironment>()
  return { call, list, hasKey, isKeyRefused: () => refused.has('PRODUCTION') }

  function hasKey(environment: StoredEnvironment): boolean {
    return keys[environment] !== null
  }

  /** `path` follows `/v1/`. */
  async function call(
    environment: StoredEnvironment,
    path: string,
    options: CallOptions = {},
  ): Promise<Json> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await send(environment, path, options)
      } catch (error) {
        const isUnderWay =
          error instanceof StripeApiError && error.code === 'idempotency_key_in_use'
        if (!isUnderWay || attempt === SAME_REQUEST.attempts) throw error
        await Bun.sleep(SAME_REQUEST.delayMs)
      }
    }
  }

  async function send(
    environment: StoredEnvironment,
    path: string,
    { method = 'GET', params = {}, idempotencyKey, signal }: CallOptions,
  ): Promise<Json> {
    const form = new URLSearchParams(encode(params))
    const query = method === 'POST' || form.size === 0 ? '' : `?${form}`
    let response: Response
    let body: string | null
    try {
      response = await fetchBounded(`${url ?? API_URL}/v1/${path}${query}`, {
        method,
        timeoutMs: TIMEOUT_MS,
        signal,
        headers: {
          authorization: `Bearer ${keys[environment]}`,
          'stripe-version': API_VERSION,
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        ...(method === 'POST' ? { body: form } : {}),
      })
      body = await readTextCapped(response, MAX_REPLY_BYTES)
    } catch {
      throw new StripeApiError('unreachable')
    }
    const reply = parse(body, response.ok)
    const error = response.ok ? null : StripeApiError.fromReply(response, reply)
    if (error?.reason === 'refused_key') refused.add(environment)
    else refused.delete(environment)
    if (error !== null) throw error
    return reply
  }

  /** All objects of a list, page by page, the newest first. */
  async function* list(
    environment: StoredEnvironment,
    path: string,
    params: Params = {},
    signal?: AbortSignal,
  ) {
    for (let after: string | undefined; ; ) {
      const page = { ...params, limit: PAGE_SIZE, starting_after: after }
      const { data, has_more: hasMore } = await call(environment, path, { params: page, signal })
      const objects = toList(data)
      yield objects
      after = text(objects.at(-1)?.['id']) ?? undefined
      if (hasMore !== true || after === undefined) return
    }
  }
}

function encode(param: Param, name = ''): [string, string][] {
  if (param === undefined) return []
  if (typeof param !== 'object') return [[name, String(param)]]
  return Object.entries(param).flatMap(([key, value]) =>
    encode(value, name === '' ? key : `${name}[${key}]`),
  )
}

/** An empty object for an error that is not JSON. */
function parse(body: string | null, isOk: boolean): Json {
  const value = parseJson(body)
  if (value === undefined && isOk) throw new StripeApiError('unreadable')
  return toObject(value)
}
