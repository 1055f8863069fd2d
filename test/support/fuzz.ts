import { Ajv, type ValidateFunction } from 'ajv'
import { type TestApp, WEBHOOK_TOKEN } from './app.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document of every shape
type Json = any
type Operation = { method: string; path: string; spec: Json }
type Outcome = { sent: number; statuses: Record<number, number>; faults: string[] }

const HOSTILE_STRINGS = [
  '',
  ' ',
  '\u0000',
  '\u202e',
  '\ud800',
  '😀',
  '../../etc/passwd',
  "' OR 1=1 --",
  '{{7*7}}',
  '%00',
  'null',
  'NaN',
  '1e400',
  '-0',
  '9007199254740993',
  '__proto__',
  'constructor',
  'a'.repeat(300),
  '\r\nX: y',
  '<script>',
  'ſ',
  '٣',
]
const VALUES = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  [],
  {},
  [[[]]],
  { __proto__: { a: 1 } },
  ...HOSTILE_STRINGS,
]
const TYPES = [
  'application/json',
  'text/plain',
  'multipart/form-data',
  'multipart/form-data; boundary=b',
  'application/jose',
  'image/png',
  '',
  'x',
]

/**
 * Sends `count` requests, generated from the OpenAPI document and then corrupted: anonymous, as a signed-in user,
 * and as the billing provider. `faults` are responses with 5xx, and those that the document does not describe.
 */
export async function fuzz(app: TestApp, count: number, seed: number): Promise<Outcome> {
  const random = randomFrom(seed)
  const document = (await app.ask('GET', '/docs/json')).json
  const operations = operationsOf(document)
  const check = createChecker(document)
  const outcome: Outcome = { sent: 0, statuses: {}, faults: [] }
  let user = await app.register()
  for (; outcome.sent < count; outcome.sent++) {
    // Some requests sign out or delete the account.
    if (outcome.sent % 50 === 49) user = await app.register()
    const { method, path, spec } = pick(operations)
    const token = pick([
      undefined,
      user.accessToken,
      user.accessToken,
      WEBHOOK_TOKEN,
      user.refreshToken,
      pick(HOSTILE_STRINGS),
    ])
    const target =
      path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(toText(pick(HOSTILE_STRINGS)))) +
      queryOf(spec)
    const { headers, body } = bodyOf(spec)
    const authorization =
      token === undefined ? {} : { authorization: `Bearer ${headerSafe(token)}` }
    const request = new Request(`http://localhost${target}`, {
      method,
      headers: { ...headers, ...authorization, ...oddHeaders() },
      ...(method === 'GET' || body === undefined ? {} : { body }),
    })
    const reply = await app.app.handle(request)
    const isStream = reply.headers.get('content-type')?.startsWith('text/event-stream')
    // A stream ends only with its session.
    const text = isStream ? '' : await reply.text()
    if (isStream) await reply.body?.cancel()
    outcome.statuses[reply.status] = (outcome.statuses[reply.status] ?? 0) + 1
    const fault = findFault(spec, reply, text)
    if (fault)
      outcome.faults.push(
        `${method} ${target.slice(0, 200)} ${String(body).slice(0, 200)}: ${fault}`,
      )
    if (outcome.faults.length >= 5) break
  }
  return outcome

  function findFault(spec: Json, { status, headers }: Response, text: string): string | null {
    if (status >= 500) return `${status} ${text.slice(0, 200)}`
    const responseSpec = spec.responses[status]
    if (!responseSpec) return `${status} is not in the document: ${text.slice(0, 200)}`
    const isJson = headers.get('content-type')?.startsWith('application/json')
    return isJson ? check(responseSpec, JSON.parse(text)) : null
  }

  function queryOf({ parameters = [] }: Json): string {
    const chosen = parameters.filter((item: Json) => item.in === 'query' && random() < 0.6)
    const pairs = chosen.map(({ name, schema }: Json) => [name, toText(valueFor(schema))])
    if (random() < 0.1) pairs.push([toText(pick(HOSTILE_STRINGS)), toText(pick(HOSTILE_STRINGS))])
    const query = new URLSearchParams(pairs).toString()
    return query === '' ? '' : `?${query}`
  }

  function bodyOf({ requestBody }: Json): { headers: Record<string, string>; body?: string } {
    if (!requestBody)
      return random() < 0.9 ? { headers: {} } : { headers: {}, body: toText(pick(VALUES)) }
    const [type = '', { schema }] = pick(Object.entries<Json>(requestBody.content))
    const contentType = random() < 0.9 ? type : pick(TYPES)
    const valid = valueFor(schema)
    const body = random() < 0.9 ? JSON.stringify(valid) : toText(pick(VALUES))
    return { headers: contentType === '' ? {} : { 'content-type': contentType }, body: body ?? '' }
  }

  function oddHeaders(): Record<string, string> {
    if (random() < 0.8) return {}
    const name = pick([
      'accept-language',
      'if-none-match',
      'idempotency-key',
      'env',
      'payload',
      'x-request-id',
      'x-timezone',
      'range',
      'origin',
      'content-encoding',
    ])
    return { [name]: headerSafe(toText(pick(VALUES))) }
  }

  /** Usually a valid value for the schema, sometimes an arbitrary one. */
  function valueFor(schemaOrRef: Json): unknown {
    const schema = resolve(schemaOrRef)
    if (random() < 0.08) return pick(VALUES)
    const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf
    if (choices) return valueFor(pick(choices))
    if (schema.enum) return pick(schema.enum)
    if (schema.type === 'object' || schema.properties) {
      const names = Object.keys(schema.properties ?? {})
      const kept = names.filter((name) => random() < (schema.required?.includes(name) ? 0.95 : 0.5))
      const entries = kept.map((name) => [name, valueFor(schema.properties[name])])
      if (random() < 0.05) entries.push([pick(HOSTILE_STRINGS), pick(VALUES)])
      return Object.fromEntries(entries)
    }
    if (schema.type === 'array')
      return Array.from({ length: Math.floor(random() * 3) }, () => valueFor(schema.items ?? {}))
    if (schema.type === 'boolean') return random() < 0.5
    if (schema.type === 'integer' || schema.type === 'number') {
      return pick([schema.minimum ?? 0, schema.maximum ?? 100, 1, 7, -1, 1.5])
    }
    return schema.example !== undefined && random() < 0.7 ? schema.example : pick(HOSTILE_STRINGS)
  }

  function resolve(schema: Json): Json {
    if (!schema?.$ref) return schema ?? {}
    return resolve(document.components.schemas[schema.$ref.split('/').at(-1)])
  }

  function pick<T>(list: readonly T[]): T {
    return list[Math.floor(random() * list.length)] as T
  }
}

function operationsOf({ paths }: Json): Operation[] {
  return Object.entries<Json>(paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, spec]) => ({
      method: method.toUpperCase(),
      path,
      spec,
    })),
  )
}

/** Returns a function that compares a response with its description and returns the fault, or null. */
function createChecker({ components }: Json) {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'document', components })
  const compiled = new Map<Json, ValidateFunction>()
  return (responseSpec: Json, reply: unknown): string | null => {
    const schema = responseSpec.content?.['application/json']?.schema
    if (!schema) return 'no JSON is described'
    let validate = compiled.get(responseSpec)
    if (!validate) {
      const text = JSON.stringify(schema).replaceAll('"#/components', '"document#/components')
      validate = ajv.compile(JSON.parse(text))
      compiled.set(responseSpec, validate)
    }
    return validate(reply)
      ? null
      : `${ajv.errorsText(validate.errors)} in ${JSON.stringify(reply).slice(0, 300)}`
  }
}

function toText(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed()
}

/** Removes characters that no client can send in a header. */
function headerSafe(text: string): string {
  return text.replaceAll(/[^\x21-\x7e]/g, '') || 'x'
}

/** Random numbers from 0 to 1, reproducible by seed (mulberry32). */
function randomFrom(seed: number) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
