import type { ApiError } from '../api-error.ts'
import type { Client } from '../client.ts'
import type { AppSettings, UserProfile } from '../models.ts'
import type { AuthChange } from '../tabs.ts'
import type { Change } from '../user-changes.ts'

/** What a hook returns. */
export type Loaded<T> = {
  /** The last value, even while it is read again and after an error; undefined until the first one. */
  data: T | undefined
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

/** A value of the signed-in user. */
export type UserValue<T> = {
  read: (client: Client) => Promise<T>
  /** The kinds of change after which it is read again. */
  kinds: Change['kind'][]
}

/** The values of a client. */
export type Store = {
  session: Resource<SessionState>
  settings: Resource<AppSettings>
  /** Null if no user is signed in. */
  ofUser: <T>(value: UserValue<T>) => Resource<T | null>
  /** Reads again after sign-ins and sign-outs. Returns a function that stops it. */
  followSession: () => () => void
  /** Reads again what has changed on the server. Returns a function that stops it. */
  followChanges: () => () => void
}

const RETRY_MS = 2_000
const MAX_RETRY_MS = 60_000

const stores = new WeakMap<Client, Store>()

/** The store of a client: all components share it. */
export function findStore(client: Client): Store {
  const store = stores.get(client) ?? createStore(client)
  stores.set(client, store)
  return store
}

function createStore(client: Client): Store {
  const session = createResource<SessionState>(async (publish) => {
    if (!(await client.isSignedIn())) return { isSignedIn: false, user: null }
    // Known without a network. The profile of the same user may be known already.
    publish((last) => (last?.isSignedIn ? last : { isSignedIn: true, user: null }))
    return { isSignedIn: true, user: await client.readProfile() }
  })
  const settings = createResource(() => client.readAppSettings())
  const userValues = new Map<UserValue<unknown>, CreatedResource<unknown>>()
  let followers = 0
  return { session, settings, ofUser, followSession, followChanges }

  function ofUser<T>(value: UserValue<T>): Resource<T | null> {
    const known = userValues.get(value)
    if (known) return known as Resource<T | null>
    const created = createResource<T | null>(async () =>
      (await client.isSignedIn()) ? value.read(client) : null,
    )
    if (session.getSnapshot().data?.isSignedIn === false) created.reset(null)
    userValues.set(value, created as CreatedResource<unknown>)
    return created
  }

  function followSession() {
    const stop = client.onAuthChange(({ reason, isSignedIn, userId }: AuthChange) => {
      if (reason === 'refreshed') return
      const { data } = session.getSnapshot()
      // The same user may have signed in again on the way to a protected action: what is shown stays.
      const isSame = data?.user && data.user._id === userId
      // The next user must not see the values of the last one. The settings hold nothing private.
      session.reset(isSame ? data : { isSignedIn, user: null })
      for (const one of userValues.values())
        one.reset(isSame ? one.getSnapshot().data : isSignedIn ? undefined : null)
      settings.reset(settings.getSnapshot().data)
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
    for (const one of [session, ...userValues.values()]) one.reset()
  }

  function followChanges() {
    return client.onChange(({ kind }: Change) => {
      if (kind === 'profile') session.invalidate()
      for (const [{ kinds }, one] of userValues) if (kinds.includes(kind)) one.invalidate()
      // Rules of settings may name plans.
      if (kind === 'settings' || kind === 'subscription') settings.invalidate()
    })
  }
}

type CreatedResource<T> = ReturnType<typeof createResource<T>>

type Publish<T> = (edit: (last: T | undefined) => T) => void

/** Reads a value when the first component needs it, and again when it has changed. */
function createResource<T>(read: (publish: Publish<T>) => Promise<T>) {
  const listeners = new Set<() => void>()
  const loading: Loaded<T> = { data: undefined, error: null, isLoading: true, reload }
  let snapshot = loading
  let running: Promise<void> | null = null
  /** Whether the value has changed since the running read began. */
  let isOutdated = false
  /** Increases when the session changes: responses to earlier reads are not shown. */
  let era = 0
  let failures = 0
  let retry: ReturnType<typeof setTimeout> | undefined
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
      if (listeners.size === 0) clearTimeout(retry)
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
    show({ data, error: null, isLoading: true })
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
    // Attempts after a failure do not alternate between an error and a loading indicator.
    if (failures === 0) show({ isLoading: true })
    try {
      const data = await read((edit) => showIfCurrent({ data: edit(snapshot.data) }))
      failures = 0
      showIfCurrent({ data, error: null, isLoading: isOutdated })
    } catch (error) {
      showIfCurrent({ error: error as ApiError, isLoading: isOutdated })
      if (mayRecover(error as ApiError) && listeners.size > 0 && era === startedIn)
        retryAfter((error as ApiError).retryAfter ?? 0)
    }
  }

  /** A change that was reported during an outage must not be lost. Randomized, so that phones do not all ask at once. */
  function retryAfter(seconds: number) {
    clearTimeout(retry)
    const delay = Math.min(RETRY_MS * 2 ** failures++, MAX_RETRY_MS) * (0.5 + Math.random())
    retry = setTimeout(load, Math.max(delay, seconds * 1_000))
  }

  function show(changes: Partial<Loaded<T>>) {
    const next = { ...snapshot, ...changes }
    const isSame = (['data', 'error', 'isLoading'] as const).every(
      (name) => next[name] === snapshot[name],
    )
    if (isSame) return
    snapshot = next
    for (const listener of [...listeners]) listener()
  }
}

function mayRecover({ status, code }: ApiError): boolean {
  return status === 429 || status >= 500 || /^(network_error|timeout|reply_)/.test(code)
}
