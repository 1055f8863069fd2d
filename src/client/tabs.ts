import { pause } from './patience.ts'

/** Why the session changed. `session_ended`: the server has ended it. */
export type AuthChangeReason =
  | 'signed_in'
  | 'refreshed'
  | 'signed_out'
  | 'account_deleted'
  | 'session_ended'

/** What became of the session, in this tab or in another one with the same storage. */
export type AuthChange = {
  reason: AuthChangeReason
  /** Whether a session is kept on this device now. */
  isSignedIn: boolean
}

/** `expiresAt` tells one state of the session from the next; null when nobody is signed in. */
export type SessionState = { reason: AuthChangeReason; expiresAt: number | null }

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

/** A tab that was put to sleep while it refreshes holds the others up for so long, in ms. */
const LONGEST_WAIT = 10_000
/** The storage of a tab may show what another one has written only so many ms after it was told. */
const READ_DELAYS = [0, 5, 15, 30, 50, 100, 300, 500]

/**
 * Does `work` while no other tab does any under the same name. Where the platform has no locks it begins at
 * once: the server answers those who come second.
 */
export async function inOneTab<T>(name: string, work: () => Promise<T>): Promise<T> {
  const { locks } = (globalThis as unknown as Platform).navigator ?? {}
  if (!locks) return work()
  const waiting = new AbortController()
  const timer = setTimeout(() => waiting.abort(), LONGEST_WAIT)
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
 * Tells listeners in all tabs what became of the session. `name` stands for the storage that the tabs share;
 * null for none. `readExpiry` tells what the storage holds: news that is not true of it is of another one.
 */
export function createAuthChanges(name: string | null, readExpiry: () => Promise<number | null>) {
  const listeners = new Set<(change: AuthChange) => void>()
  let channel: Channel | null = null
  /** As this tab has last seen it: tabs that share nothing but a name are not told of each other's end. */
  let wasSignedIn = false
  let latest: SessionState | null = null
  return { announce, listen }

  function announce(state: SessionState) {
    tell(state)
    open()?.postMessage(state)
  }

  function listen(listener: (change: AuthChange) => void): () => void {
    open()
    // Its own function, so that who listens twice is told twice.
    const own = (change: AuthChange) => listener(change)
    listeners.add(own)
    return () => void listeners.delete(own)
  }

  function tell({ reason, expiresAt }: SessionState) {
    wasSignedIn = expiresAt !== null
    for (const listener of listeners) {
      // What a listener throws is the app's, not the call's.
      void Promise.resolve({ reason, isSignedIn: expiresAt !== null }).then(listener)
    }
  }

  /** Opened when it is needed first. */
  function open(): Channel | null {
    const { BroadcastChannel } = globalThis as unknown as Platform
    // Deno has no tabs, and runs on while a channel is open.
    if (channel || name === null || !BroadcastChannel || 'Deno' in globalThis) return channel
    channel = new BroadcastChannel(name)
    channel.unref?.()
    channel.onmessage = ({ data }) => void hear(data)
    void readExpiry().then(
      (expiresAt) => {
        wasSignedIn ||= expiresAt !== null
      },
      () => {},
    )
    return channel
  }

  /** Tells the news once the storage shows it, unless newer news arrive first. */
  async function hear(news: SessionState) {
    latest = news
    for (const delay of READ_DELAYS) {
      if (delay > 0) await pause(delay)
      const expiresAt = await readExpiry().catch(() => undefined)
      if (latest !== news) return
      if (expiresAt !== news.expiresAt) continue
      if (expiresAt !== null || wasSignedIn) tell(news)
      return
    }
  }
}
