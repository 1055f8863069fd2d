import { parseJson } from '../lib/text/json.ts'
import type { ApiError } from './api-error.ts'
import type { AppFunctions } from './app-data.ts'
import type { BillingFunctions } from './billing.ts'
import type { Call, Caller, Envelope } from './caller.ts'
import { confirmed, KEPT_KEY, type Kept, type KeptName, type KeptValues } from './kept-values.ts'
import type { Subscription } from './models.ts'
import { applyClaims, readProof } from './proof.ts'
import type { SessionKeeper } from './session.ts'
import type { CallOptions, LanguageInput } from './shared-types.ts'
import { createSlot, type Storage } from './storage.ts'
import type { UserFunctions } from './users.ts'

type KeptDeps = {
  storage: Storage
  baseUrl: string
  call: Caller
  session: Pick<SessionKeeper, 'read'>
  functions: Pick<UserFunctions, 'readProfile'> & BillingFunctions & AppFunctions
  /** Thumbprints (RFC 7638) of the trusted keys; undefined trusts any key. */
  signingKeys: string[] | undefined
  now: () => number
}

type KeptReads = {
  [Name in KeptName]: (language?: LanguageInput, options?: CallOptions) => Promise<KeptValues[Name]>
}

/** `asOf`: the server's time, in ms. */
type Entry = { data: unknown; asOf: number; etag?: string | undefined; lang?: string | undefined }

/** The values of one user of one server. `seenAt`: the latest time that is known to have passed, in ms. */
type Memory = {
  baseUrl: string
  userId: string | null
  seenAt: number
  entries: { [name in KeptName]?: Entry }
}

/** The same for every user. */
const PUBLIC: KeptName[] = ['plans', 'rates', 'faqs']
/** How far the clock may run ahead of `seenAt` before its time is stored. */
const SEEN_MS = 60_000

/** Keeps the last response of each kind for the signed-in user. */
export function createKept(deps: KeptDeps) {
  const { baseUrl, call, session, functions, signingKeys, now } = deps
  const slot = createSlot(deps.storage, KEPT_KEY)
  /** The server's time at a response, and the platform's monotonic clock then, both in ms. */
  let anchor: { server: number; elapsed: number } | null = null
  let lastChange: Promise<unknown> = Promise.resolve()
  const read: KeptReads = {
    subscription: functions.readSubscription,
    profile: (_language, options) => functions.readProfile(options),
    settings: (_language, options) => functions.readAppSettings(options),
    plans: functions.readPricingPlans,
    rates: (_language, options) => functions.readCurrencyRates(options),
    faqs: functions.readFaqs,
  }
  return { fetch, readKept }

  /** Sends a request that reads a value, and keeps the response. A storage that fails does not fail the call. */
  async function fetch(
    name: KeptName,
    path: string,
    token: string | null,
    content: Call,
  ): Promise<Envelope> {
    const { environment = 'production', lang } = (content.query ?? {}) as Record<string, string>
    const current = await session.read().catch(() => null)
    const isOwn = PUBLIC.includes(name) || token === (current?.accessToken ?? null)
    if (environment !== 'production' || !isOwn) return call('get', path, token, content)
    const userId = current?.userId ?? null
    const entry = (await load(userId)).entries[name]
    const known = entry?.lang === lang ? entry : undefined
    let etag: string | undefined
    let asOf = now()
    const request: Call = {
      ...content,
      query: { ...content.query, ...(name === 'subscription' ? { proof: true } : {}) },
      headers: { ...content.headers, ...(known?.etag ? { 'if-none-match': known.etag } : {}) },
      onHeaders: (header) => {
        etag = header('etag') ?? undefined
        asOf = Date.parse(header('date') ?? '') || now()
      },
    }
    try {
      const envelope = await call('get', path, token, request)
      await keep(userId, name, { data: envelope.response, asOf, etag, lang })
      return envelope
    } catch (cause) {
      const error = cause as ApiError
      // A 304 that is not sealed could come from an intermediary.
      if (!known?.etag || !error.isGenuine || error.status !== 304) throw error
      await keep(userId, name, { ...known, asOf })
      return { code: 'ok', response: known.data }
    }
  }

  async function readKept<Name extends KeptName>(
    name: Name,
    { lang }: LanguageInput = {},
    options?: CallOptions,
  ): Promise<Kept<KeptValues[Name]>> {
    const userId = await readUserId()
    const memory = await load(userId)
    const refresh = async (): Promise<Kept<KeptValues[Name]>> => {
      const data = await read[name]({ lang }, options)
      const asOf = (await load(userId)).entries[name]?.asOf ?? now()
      return confirmed(data, new Date(asOf))
    }
    const entry = memory.entries[name]
    const data = entry?.lang === lang ? await judge(name, entry, memory) : null
    if (!entry || data === null) return refresh()
    const refreshed = refresh()
    refreshed.catch(() => {})
    return { data: data as KeptValues[Name], isStale: true, asOf: new Date(entry.asOf), refreshed }
  }

  /** Returns the value as it is valid now; null if there is none. */
  async function judge(name: KeptName, entry: Entry | undefined, memory: Memory) {
    if (!entry || name !== 'subscription') return entry?.data ?? null
    const kept = entry.data as Subscription
    const claims = await readProof(kept.proof, memory.userId ?? '', signingKeys)
    if (claims === null) return null
    const at = Math.max(currentTime(memory), claims.iat * 1000)
    if (at - memory.seenAt > SEEN_MS)
      await change(memory.userId, (latest) => {
        latest.seenAt = at
      })
    return applyClaims(kept, claims, at)
  }

  /** At least `seenAt`, and the last response plus the elapsed time: the device's clock may have been set back. */
  function currentTime({ seenAt }: Memory): number {
    const elapsed = anchor ? anchor.server + elapsedMs() - anchor.elapsed : 0
    return Math.max(now(), seenAt, elapsed)
  }

  async function keep(userId: string | null, name: KeptName, entry: Entry) {
    anchor = { server: entry.asOf, elapsed: elapsedMs() }
    await change(userId, (memory) => {
      memory.entries[name] = entry
      memory.seenAt = entry.asOf
    })
  }

  /** Changes the kept values, unless another user has signed in. */
  async function change(userId: string | null, edit: (memory: Memory) => void) {
    const nextChange = lastChange.then(async () => {
      const memory = await load(userId)
      edit(memory)
      if ((await readUserId()) === userId) await slot.write(JSON.stringify(memory))
      if ((await readUserId()) !== userId) await slot.clear()
    })
    lastChange = nextChange.catch(() => {})
    await lastChange
  }

  async function readUserId(): Promise<string | null> {
    return (await session.read().catch(() => null))?.userId ?? null
  }

  /** Returns no entries for another user or server, or if the storage cannot be read. */
  async function load(userId: string | null): Promise<Memory> {
    // Undefined or null if it is damaged or missing.
    const memory = parseJson(await slot.read().catch(() => null)) as Memory | undefined | null
    if (memory?.baseUrl === baseUrl && memory.userId === userId) return memory
    return { baseUrl, userId, seenAt: 0, entries: {} }
  }
}

function elapsedMs(): number {
  return globalThis.performance?.now() ?? 0
}
