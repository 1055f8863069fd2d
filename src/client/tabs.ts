import { sleep } from './deadline.ts'

/** Why the session changed. `session_ended`: the server has ended it. */
export type AuthChangeReason =
  | 'signed_in'
  | 'refreshed'
  | 'signed_out'
  | 'account_deleted'
  | 'session_ended'

/** A change to the session, in this tab or another one with the same storage. */
export type AuthChange = {
  reason: AuthChangeReason
  /** Whether a session is kept on this device now. */
  isSignedIn: boolean
  /** The id of the user who is signed in now; null if there is no session. */
  userId: string | null
}

/** `expiresAt` identifies the state of the session; null, like `userId`, if no user is signed in. */
export type SessionState = {
  reason: AuthChangeReason
  expiresAt: number | null
  userId: string | null
}

type Channel = {
  onmessage: (event: { data: SessionState }) => void
  postMessage(state: SessionState): void
  unref?: () => void
}
type Locks = {
  request<T>(name: string, options: { signal: AbortSignal }, work: () => Promise<T>): Promise<T>
}
type Platform = {
  BroadcastChannel?: new (name: string) => Channel
  navigator?: { locks?: Locks }
}

/** How long a tab that was suspended during a refresh can block the others. */
const MAX_LOCK_WAIT_MS = 10_000
/** When to read the storage after another tab's message: the change may become visible only later. */
const READ_DELAYS_MS = [0, 5, 15, 30, 50, 100, 300, 500]

/** Runs in one tab at a time per `name`; immediately on platforms without locks: the server handles concurrency too. */
export async function withTabLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  const { locks } = (globalThis as unknown as Platform).navigator ?? {}
  if (!locks) return work()
  const waiting = new AbortController()
  const timer = setTimeout(() => waiting.abort(), MAX_LOCK_WAIT_MS)
  let isGranted = false
  try {
    return await locks.request(name, { signal: waiting.signal }, () => {
      isGranted = true
      clearTimeout(timer)
      return work()
    })
  } catch (error) {
    if (isGranted) throw error
    return work()
  }
}

/**
 * Reports changes in all tabs. `name`: the shared storage; null if none. A message that does not match `readExpiry` is
 * about another storage.
 */
export function createAuthChanges(name: string | null, readExpiry: () => Promise<number | null>) {
  const listeners = new Set<(change: AuthChange) => void>()
  let channel: Channel | null = null
  /** A tab with a separate storage must not be notified when another tab's session ends. */
  let wasSignedIn = false
  /** The last message, until it is reported. */
  let latest: SessionState | null = null
  return { announce, listen }

  function announce(state: SessionState) {
    notify(state)
    open()?.postMessage(state)
  }

  function listen(listener: (change: AuthChange) => void): () => void {
    open()
    // A new function, so that a listener added twice is called twice.
    const registered = (change: AuthChange) => listener(change)
    listeners.add(registered)
    return () => void listeners.delete(registered)
  }

  function notify({ reason, expiresAt, userId }: SessionState) {
    const isSignedIn = expiresAt !== null
    wasSignedIn = isSignedIn
    for (const listener of listeners) {
      // An error in the app's listener must not fail the call.
      void Promise.resolve({ reason, isSignedIn, userId }).then(listener)
    }
  }

  function open(): Channel | null {
    const { BroadcastChannel } = globalThis as unknown as Platform
    // Deno has no tabs, and an open channel keeps it running.
    if (channel || name === null || !BroadcastChannel || 'Deno' in globalThis) return channel
    channel = new BroadcastChannel(name)
    channel.unref?.()
    channel.onmessage = ({ data }) => void receive(data)
    void readExpiry().then(
      (expiresAt) => {
        wasSignedIn ||= expiresAt !== null
      },
      () => {},
    )
    return channel
  }

  /**
   * Waits until the storage shows the change, or a newer message arrives. A suspended tab receives all messages at
   * once: reporting only the last must not hide that the user has changed.
   */
  async function receive(incoming: SessionState) {
    // A refresh must not hide the sign-in before it.
    if (latest?.expiresAt && incoming.reason === 'refreshed') incoming.reason = latest.reason
    latest = incoming
    for (const delay of READ_DELAYS_MS) {
      if (delay > 0) await sleep(delay)
      const expiresAt = await readExpiry().catch(() => undefined)
      if (latest !== incoming) return
      if (expiresAt !== incoming.expiresAt) continue
      latest = null
      if (expiresAt !== null || wasSignedIn) notify(incoming)
      return
    }
  }
}
