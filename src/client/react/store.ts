import type { ApiError } from '../api-error.ts'
import type { Client } from '../client.ts'
import { confirmed, type Kept } from '../kept-values.ts'
import type { UserProfile } from '../models.ts'
import { retryAfterMs, retryDelay } from '../retry-delay.ts'
import type { AuthChange } from '../tabs.ts'
import type { Change } from '../user-changes.ts'

/** What a hook returns. */
export type Loaded<T> = {
  /** The last value, also while it reloads and after an error; undefined until the first one. At the start, the kept value. */
  data: T | undefined
  /** Whether the server has not confirmed `data` since the start, for example without a connection. */
  isStale: boolean
  /** When the server sent `data`; null if there is none. */
  asOf: Date | null
  /** Why the last attempt to read it failed; null if it did not. */
  error: ApiError | null
  /** Whether it is being read. */
  isLoading: boolean
  /** Reads it again. Never rejects: see `error`. */
  reload: () => Promise<void>
}

/** Who is signed in. */
export type SessionState = {
  /** True for guests too. */
  isSignedIn: boolean
  /** A guest's `loginType` is `guest`. Null if no user is signed in, or the profile could not be read yet. */
  user: UserProfile | null
}

/** A value that hooks subscribe to. */
export type Resource<T> = {
  subscribe: (listener: () => void) => () => void
  getSnapshot: () => Loaded<T>
  getServerSnapshot: () => Loaded<T>
}

/** A value that hooks show. */
export type Value<T> = {
  read: (client: Client) => Promise<Kept<T>>
  /** The kinds of change after which it is read again. */
  kinds: Change['kind'][]
  /** Users who are not signed in have it too. */
  isPublic?: boolean
  /** When the value changes without a server event, in ms since 1970; Infinity for never. */
  endOf?: (data: T) => number
}

/** The values of a client. */
export type Store = {
  session: Resource<SessionState>
  /** Null if no user is signed in and the value is not public. */
  find: <T>(value: Value<T>) => Resource<T | null>
  /** Reloads the values after sign-ins and sign-outs. Returns a function that stops it. */
  followSession: () => () => void
  /** Reloads values that have changed on the server. Returns a function that stops it. */
  followChanges: () => () => void
}

/** The longest timer delay: with a longer one, a timer fires immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1

const stores = new WeakMap<Client, Store>()

/** The store of a client: all components share it. */
export function findStore(client: Client): Store {
  const store = stores.get(client) ?? createStore(client)
  stores.set(client, store)
  return store
}

function createStore(client: Client): Store {
  const session = createResource<SessionState>(async (publish) => {
    if (!(await client.isSignedIn())) return confirmed({ isSignedIn: false, user: null })
    // Known without a network. The profile of the same user may be known already.
    publish((last) => (last?.isSignedIn ? last : { isSignedIn: true, user: null }))
    return mapKept(await client.readKept('profile'), (user) => ({ isSignedIn: true, user }))
  })
  const values = new Map<Value<unknown>, CreatedResource<unknown>>()
  let followers = 0
  return { session, find, followSession, followChanges }

  function find<T>(value: Value<T>): Resource<T | null> {
    const known = values.get(value as Value<unknown>)
    if (known) return known as Resource<T | null>
    const { isPublic = false, endOf } = value
    const created = createResource<T | null>(
      async () => (isPublic || (await client.isSignedIn()) ? value.read(client) : confirmed(null)),
      (data) => (data === null ? Infinity : (endOf?.(data) ?? Infinity)),
    )
    if (!isPublic && session.getSnapshot().data?.isSignedIn === false) created.reset(null)
    values.set(value as Value<unknown>, created as CreatedResource<unknown>)
    return created
  }

  function followSession() {
    const stop = client.onAuthChange(({ reason, isSignedIn, userId }: AuthChange) => {
      if (reason === 'refreshed') return
      const { data } = session.getSnapshot()
      // The same user may have signed in again before a protected action: keep the shown values.
      const isSame = data?.user && data.user._id === userId
      // The next user must not see the previous user's values. Public values contain nothing private.
      session.reset(isSame ? data : { isSignedIn, user: null })
      for (const [{ isPublic }, resource] of values)
        resource.reset(
          isSame || isPublic ? resource.getSnapshot().data : isSignedIn ? undefined : null,
        )
    })
    followers++
    return () => {
      stop()
      followers--
      void Promise.resolve().then(forgetIfUnfollowed)
    }
  }

  /** The session may change unnoticed until a provider is mounted again; React's strict mode mounts it twice. */
  function forgetIfUnfollowed() {
    if (followers > 0) return
    for (const resource of [session, ...values.values()]) resource.reset()
  }

  function followChanges() {
    return client.onChange(({ kind }: Change) => {
      if (kind === 'profile') session.invalidate()
      for (const [{ kinds }, resource] of values) if (kinds.includes(kind)) resource.invalidate()
    })
  }
}

type CreatedResource<T> = ReturnType<typeof createResource<T>>

type Publish<T> = (edit: (last: T | undefined) => T) => void

/** Reads a value when the first component needs it, and again when it has changed or ends. */
function createResource<T>(
  read: (publish: Publish<T>) => Promise<Kept<T>>,
  endOf: (data: T) => number = () => Infinity,
) {
  const listeners = new Set<() => void>()
  const nothing = { data: undefined, isStale: false, asOf: null, error: null }
  const loading: Loaded<T> = { ...nothing, isLoading: true, reload }
  let snapshot = loading
  let running: Promise<void> | null = null
  /** Whether the value has changed since the running read began. */
  let isOutdated = false
  /** Increases when the session changes: responses to earlier reads are not shown. */
  let era = 0
  let failures = 0
  let retry: ReturnType<typeof setTimeout> | undefined
  let end: ReturnType<typeof setTimeout> | undefined
  return {
    subscribe,
    getSnapshot: () => snapshot,
    getServerSnapshot: () => loading,
    invalidate,
    reset,
  }

  function subscribe(listener: () => void): () => void {
    listeners.add(listener)
    if (listeners.size === 1) void load()
    return () => {
      listeners.delete(listener)
      if (listeners.size > 0) return
      clearTimeout(retry)
      clearTimeout(end)
    }
  }

  /** The next component that needs the value reads it anyway. */
  function invalidate() {
    if (listeners.size > 0) void reload()
  }

  function reset(data?: T) {
    era++
    failures = 0
    running = null
    show({ ...nothing, data, isLoading: true })
    if (listeners.size > 0) void load()
  }

  function reload(): Promise<void> {
    failures = 0
    isOutdated = running !== null
    return load()
  }

  /** Shared by all callers. */
  function load(): Promise<void> {
    if (running) return running
    clearTimeout(retry)
    const run = readAll(era).finally(() => {
      if (running === run) running = null
    })
    running = run
    return run
  }

  async function readAll(startedIn: number) {
    do {
      // Several changes are often reported at once.
      await null
      if (era !== startedIn) return
      isOutdated = false
      await readOnce(startedIn)
    } while (isOutdated && era === startedIn)
  }

  async function readOnce(startedIn: number) {
    const showIfCurrent = (changes: Partial<Loaded<T>>) => {
      if (era === startedIn) show(changes)
    }
    const showValue = ({ data, isStale, asOf }: Kept<T>, changes: Partial<Loaded<T>>) => {
      showIfCurrent({ data, isStale, asOf, ...changes })
      if (era === startedIn) reloadAt(endOf(data))
    }
    // Retries must not alternate between an error and a loading indicator.
    if (failures === 0) show({ isLoading: true })
    try {
      const kept = await read((edit) => showIfCurrent({ data: edit(snapshot.data) }))
      // A value that the server has confirmed is newer, until it ends.
      const isNewer = snapshot.asOf === null || snapshot.isStale || hasEnded()
      if (kept.isStale && isNewer) showValue(kept, {})
      const reply = await kept.refreshed
      failures = 0
      showValue(reply, { error: null, isLoading: isOutdated })
    } catch (error) {
      showIfCurrent({ error: error as ApiError, isLoading: isOutdated })
      if (mayRecover(error as ApiError) && listeners.size > 0 && era === startedIn)
        retryAfter((error as ApiError).retryAfter)
    }
  }

  function hasEnded(): boolean {
    return snapshot.data !== undefined && endOf(snapshot.data) <= Date.now()
  }

  /** Ignores an end in the past: the server's clock differs. */
  function reloadAt(time: number) {
    clearTimeout(end)
    const delay = time - Date.now()
    if (delay > 0 && delay < MAX_TIMER_MS && listeners.size > 0) end = setTimeout(reload, delay + 1)
  }

  /** A change that was reported during an outage must not be lost. */
  function retryAfter(seconds: number | null) {
    clearTimeout(retry)
    retry = setTimeout(load, Math.max(retryDelay(failures++), retryAfterMs(seconds)))
  }

  function show(changes: Partial<Loaded<T>>) {
    const next = { ...snapshot, ...changes }
    const isSame = Object.keys(next).every(
      (name) => next[name as keyof Loaded<T>] === snapshot[name as keyof Loaded<T>],
    )
    if (isSame) return
    snapshot = next
    for (const listener of [...listeners]) listener()
  }
}

function mapKept<A, B>(kept: Kept<A>, map: (data: A) => B): Kept<B> {
  const { isStale, asOf, refreshed } = kept
  const data = map(kept.data)
  if (!isStale) return confirmed(data, asOf)
  return { data, isStale, asOf, refreshed: refreshed.then((reply) => mapKept(reply, map)) }
}

function mayRecover({ status, code }: ApiError): boolean {
  return status === 429 || status >= 500 || /^(network_error|timeout|reply_)/.test(code)
}
