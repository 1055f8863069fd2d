import { isObject, parseJson } from '../lib/text/json.ts'
import { mergePatch } from '../lib/text/merge-patch.ts'
import { type ApiError, clientError } from './api-error.ts'
import { utf8 } from './bytes.ts'
import type { Call } from './caller.ts'
import { unwrap } from './calls.ts'
import type { ChangesDeps } from './changes.ts'
import {
  DATA,
  type DataSync,
  type DataSyncOptions,
  type DataSyncState,
  documentSlot,
  forgetDocument,
  type JsonObject,
} from './data.ts'
import type { UserData } from './models.ts'
import { retryDelay } from './retry-delay.ts'
import { notSignedIn } from './session-replies.ts'
import type { Storage } from './storage.ts'
import { type AuthChange, withTabLock } from './tabs.ts'
import type { ChangeFunctions } from './user-changes.ts'

type DataSyncDeps = Pick<ChangesDeps, 'session' | 'call' | 'withToken' | 'runCall'> & {
  storage: Storage
  baseUrl: string
  onChange: ChangeFunctions['onChange']
  onAuthChange: (listener: (change: AuthChange) => void) => () => void
}

/** A user's document. `patch`: the changes that the server does not have yet. */
type Local = { base: JsonObject; version: string | null; patch: JsonObject | null }

/** The server will never accept these changes. */
const REJECTED = ['payload_too_large', 'validation_failed']
/** The largest document, in bytes of JSON. */
const MAX_BYTES = 64 * 1024

/** Keeps the user's document on this device, and syncs it when the server can be reached. */
export async function startDataSync(
  deps: DataSyncDeps,
  { storage = deps.storage, merge }: DataSyncOptions = {},
): Promise<DataSync> {
  const { baseUrl, session, call, withToken, runCall } = deps
  const listeners = new Set<() => void>()
  let userId = (await session.read())?.userId ?? null
  let local = await load(userId)
  let error: ApiError | null = null
  let dropped: JsonObject | null = null
  let failures = 0
  let retry: ReturnType<typeof setTimeout> | undefined
  let state = toState()
  let running: Promise<void> | null = null
  let isStopped = false
  /** Whether the document may have changed since the last request was sent. */
  let isOutdated = false
  let lastUpdate: Promise<unknown> = Promise.resolve()
  const page = globalThis as {
    addEventListener?: (name: string, listener: () => void) => void
    removeEventListener?: (name: string, listener: () => void) => void
  }
  const syncUnsent = () => void (local.patch && sync())
  page.addEventListener?.('online', syncUnsent)
  const stops = [
    () => page.removeEventListener?.('online', syncUnsent),
    () => clearTimeout(retry),
    deps.onAuthChange((change) => void followUser(change)),
    deps.onChange(({ kind }) => void (kind === 'data' && sync())),
  ]
  // The user may have changed while the document was loaded, unless an event has already reported it.
  const before = userId
  const user = await session.read().catch(() => undefined)
  if (user !== undefined && userId === before)
    await followUser({ reason: 'refreshed', userId: user?.userId ?? null })
  return {
    getSnapshot: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async change(patch) {
      if (!isObject(patch)) throw new TypeError('A change must be an object.')
      if (userId === null) throw notSignedIn()
      await update(userId, (latest) => {
        const all = mergePatches(latest.patch ?? {}, patch)
        // Checked here, because the server would reject the earlier changes with it.
        if (isTooLarge(mergePatch(latest.base, all))) throw tooLarge()
        latest.patch = all
        dropped = null
      })
      void sync()
    },
    sync,
    stop() {
      isStopped = true
      for (const stop of stops) stop()
    },
  }

  /** At once, so that nothing of the previous user is sent or shown while the storage responds. */
  async function followUser({ reason, userId: next }: Pick<AuthChange, 'reason' | 'userId'>) {
    const previous = userId
    if (next === previous) return
    userId = next
    local = empty()
    error = null
    dropped = null
    publish()
    await inTurn(async () => {
      await forgetDocument(storage, reason, previous ?? undefined)
      const stored = await load(next).catch(empty)
      if (next !== userId) return
      local = stored
      publish()
    })
  }

  /** Shared by all callers. Never rejects: see the state's `error`. */
  function sync(): Promise<void> {
    isOutdated = true
    running ??= exchange(userId).finally(() => {
      running = null
      // Another user has signed in.
      if (isOutdated) void sync()
    })
    return running
  }

  async function exchange(owner: string | null) {
    isOutdated = owner !== null && !isStopped
    // A change that was made before the app stopped syncing is still sent.
    while (owner === userId && (isOutdated || local.patch)) {
      isOutdated = false
      const { patch: sent, version } = local
      try {
        const isChange = sent !== null && version !== null
        const reply = await (isChange
          ? send(owner, 'patch', { json: sent, query: { version } })
          : send(owner, 'get'))
        // Nothing follows the session any more.
        if (isStopped && (!isChange || (await session.read())?.userId !== owner)) return
        await update(owner, (latest) => {
          if (!isChange) return rebase(latest, reply)
          latest.patch = withoutSent(latest.patch, sent)
          Object.assign(latest, { base: reply.data, version: reply.version })
        })
        error = null
        failures = 0
      } catch (failure) {
        if (isStopped) return
        error = await recover(owner, failure as ApiError, sent).catch((next) => next)
        publish()
        // `sync` was called in the meantime, perhaps because the connection is back.
        if (error && !isOutdated) return retryLater()
      }
    }
  }

  /** With the owner's token: another user may have signed in, of whom no event has arrived yet. */
  function send(owner: string | null, method: 'get' | 'patch', content: Partial<Call> = {}) {
    return runCall({}, async (deadline) => {
      const request = { ...content, deadline }
      const reply = await withToken((token) => call(method, DATA, token, request), owner ?? '')
      return unwrap<typeof method, typeof DATA>(reply)
    })
  }

  /** The stream of changes may still be open, and then no reconnection starts a sync. */
  function retryLater() {
    clearTimeout(retry)
    const delay = retryDelay(failures++)
    if (local.patch) retry = setTimeout(syncUnsent, delay)
  }

  /** Returns the failure that the app should know about; null after a conflict that was merged. */
  async function recover(owner: string | null, failure: ApiError, sent: JsonObject | null) {
    if (owner !== userId) return null
    if (sent && REJECTED.includes(failure.code)) {
      await update(owner, (latest) => {
        latest.patch = withoutSent(latest.patch, sent)
        dropped = sent
      })
    }
    if (failure.code !== 'precondition_failed') return failure
    const remote = await send(owner, 'get')
    await update(owner, (latest) => rebase(latest, remote))
    return null
  }

  /** Takes over the server's document, and keeps the changes that it lacks. */
  function rebase(latest: Local, { data: remote, version }: UserData) {
    const { base, patch } = latest
    if (merge && patch && version !== latest.version) {
      const mine = mergePatch(base, patch) as JsonObject
      latest.patch = patchBetween(remote, merge({ base, local: mine, remote }))
    }
    Object.assign(latest, { base: remote, version })
  }

  /** One change at a time, in all tabs. Does nothing once another user has signed in. */
  function update(owner: string | null, edit: (latest: Local) => void): Promise<void> {
    return inTurn(async () => {
      const latest = await load(owner)
      if (owner !== userId || owner === null) return
      edit(latest)
      await documentSlot(storage, owner).write(JSON.stringify({ ...latest, baseUrl }))
      if (owner !== userId) return
      local = latest
      publish()
    })
  }

  function inTurn(work: () => Promise<void>): Promise<void> {
    const lock = () => withTabLock(`homeport.data ${baseUrl}`, work)
    const result = lastUpdate.then(lock, lock)
    lastUpdate = result
    return result
  }

  function publish() {
    state = toState()
    for (const listener of [...listeners]) listener()
  }

  function toState(): DataSyncState {
    const { base, patch } = local
    const data = mergePatch(base, patch ?? {}) as JsonObject
    return { data, hasUnsent: patch !== null, dropped, error }
  }

  async function load(owner: string | null): Promise<Local> {
    const text = owner === null ? null : await documentSlot(storage, owner).read()
    // Undefined or null if it is damaged or missing.
    const kept = parseJson(text) as (Local & { baseUrl: string }) | undefined | null
    return kept?.baseUrl === baseUrl ? kept : empty()
  }
}

function isTooLarge(document: unknown): boolean {
  return utf8(JSON.stringify(document)).length > MAX_BYTES
}

function tooLarge(): ApiError {
  return clientError('payload_too_large', 'With this change, the document would exceed 64 KiB.')
}

function empty(): Local {
  return { base: {}, version: null, patch: null }
}

/** One patch with the effect of both; `null` stays, because it removes a member. */
function mergePatches(first: JsonObject, second: JsonObject): JsonObject {
  const result = { ...first }
  for (const [name, value] of Object.entries(second)) {
    const before = result[name]
    result[name] = isObject(value) && isObject(before) ? mergePatches(before, value) : value
  }
  return result
}

/** The members of `patch` that differ from those `sent`; null if there are none. */
function withoutSent(patch: JsonObject | null, sent: JsonObject): JsonObject | null {
  const left = Object.entries(patch ?? {}).flatMap(([name, value]) => {
    const other = sent[name]
    if (JSON.stringify(value) === JSON.stringify(other)) return []
    const rest = isObject(value) && isObject(other) ? withoutSent(value, other) : value
    return rest === null && value !== null ? [] : [[name, rest] as const]
  })
  return left.length === 0 ? null : Object.fromEntries(left)
}

/** The patch that turns `from` into `to`; null if they are the same. */
function patchBetween(from: JsonObject, to: JsonObject): JsonObject | null {
  const names = new Set([...Object.keys(from), ...Object.keys(to)])
  const changes = [...names].flatMap((name) => {
    const [before, after] = [from[name], to[name] ?? null]
    if (JSON.stringify(before ?? null) === JSON.stringify(after)) return []
    const change = isObject(before) && isObject(after) ? patchBetween(before, after) : after
    return [[name, change] as const]
  })
  return changes.length === 0 ? null : Object.fromEntries(changes)
}
