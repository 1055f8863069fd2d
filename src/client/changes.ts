import type { Kind } from '../features/changes/streams.ts'
import type { Caller } from './caller.ts'
import type { Calls } from './calls.ts'
import type { RunCall } from './deadline.ts'
import type { SessionKeeper } from './session.ts'
import type { AuthChange } from './tabs.ts'
import type { Change, ChangeFunctions } from './user-changes.ts'

type Listener = (change: Change) => void

export type ChangesDeps = {
  call: Caller
  withToken: Calls['withToken']
  session: Pick<SessionKeeper, 'read'>
  onAuthChange: (listener: (change: AuthChange) => void) => () => void
  runCall: RunCall
}

type Page = {
  document?: { visibilityState: string }
  addEventListener?: (name: string, listener: () => void) => void
  removeEventListener?: (name: string, listener: () => void) => void
}

const PATH = '/api/user/changes/v1'
const KINDS: Kind[] = ['subscription', 'profile', 'data', 'settings']
/** The server sends something every 25 s: a longer silence means a lost connection. */
const MAX_SILENCE_MS = 60_000
/** The delay before reconnecting, until the server sets one, and the longest delay. */
const RETRY_MS = 3_000
const MAX_RETRY_MS = 60_000
/** A browser fires these events when connecting may have become possible. */
const WAKING_EVENTS = ['visibilitychange', 'online']

/** All listeners share one connection. */
export function createChanges(deps: ChangesDeps): ChangeFunctions['onChange'] {
  const { call, withToken, session, onAuthChange, runCall } = deps
  const listeners = new Set<Listener>()
  /** Listeners that have not been called yet: a connection must be ready first. */
  const newListeners = new Set<Listener>()
  const page = globalThis as unknown as Page
  let lastEventId: string | null = null
  let retryMs = RETRY_MS
  let failures = 0
  let isReady = false
  let connection: AbortController | null = null
  let wakes = 0
  let endPause = () => {}
  let stop = () => {}
  return onChange

  function onChange(listener: Listener): () => void {
    // A new function, so that a listener added twice is called twice.
    const registered: Listener = (change) => listener(change)
    listeners.add(registered)
    if (listeners.size === 1) start()
    else if (isReady) for (const kind of KINDS) notify(kind, [registered])
    else newListeners.add(registered)
    return () => {
      newListeners.delete(registered)
      if (listeners.delete(registered) && listeners.size === 0) stop()
    }
  }

  function start() {
    let isStopped = false
    lastEventId = null
    const stopListening = onAuthChange(({ reason }) => {
      if (reason !== 'refreshed') restart()
    })
    for (const name of WAKING_EVENTS) page.addEventListener?.(name, wake)
    stop = () => {
      isStopped = true
      stopListening()
      for (const name of WAKING_EVENTS) page.removeEventListener?.(name, wake)
      restart()
    }
    void run(() => isStopped)
  }

  async function run(isStopped: () => boolean) {
    while (!isStopped()) {
      const wakesBefore = wakes
      const kept = await session.read().catch(() => undefined)
      if (isStopped()) return
      if (kept === undefined) {
        // The storage failed, for example because the phone is locked.
        failures++
        await pause(nextDelay())
      } else if (kept === null || isHidden()) {
        if (wakes === wakesBefore) await pause(Number.POSITIVE_INFINITY)
      } else {
        await connect().catch(() => failures++)
        if (!isStopped()) await pause(nextDelay())
      }
    }
  }

  function connect(): Promise<unknown> {
    connection = new AbortController()
    const { signal } = connection
    return runCall({ signal, timeout: MAX_SILENCE_MS }, (deadline) => {
      const parse = createEventParser(receive)
      const onText = (text: string) => {
        if (signal.aborted) return
        deadline.restart(MAX_SILENCE_MS)
        parse(text)
      }
      return withToken((token) => {
        const headers: Record<string, string> = {}
        if (lastEventId !== null) headers['last-event-id'] = lastEventId
        return call('get', PATH, token, { headers, onText, deadline })
      })
    }).finally(() => {
      isReady = false
    })
  }

  function receive({ name, id, retry }: { name?: string; id?: string; retry?: number }) {
    const isFirst = lastEventId === null
    lastEventId = id ?? lastEventId
    retryMs = retry ?? retryMs
    // The next connection finds out whether the session has really ended.
    if (name === undefined || name === 'signed-out') return
    if (name !== 'ready') return notify(name, listeners)
    failures = 0
    isReady = true
    const called = [...(isFirst ? listeners : newListeners)]
    newListeners.clear()
    for (const kind of KINDS) notify(kind, called)
  }

  /** Reconnects without the state of the previous session. */
  function restart() {
    lastEventId = null
    failures = 0
    retryMs = 0
    connection?.abort()
    endPauseNow()
  }

  /** A browser allows few connections to a server without HTTP/2, so hidden pages have none. */
  function wake() {
    if (isHidden()) connection?.abort()
    else endPauseNow()
  }

  function endPauseNow() {
    wakes++
    endPause()
  }

  function isHidden(): boolean {
    return page.document?.visibilityState === 'hidden'
  }

  /** In ms, randomized so that apps do not all connect at once when the server restarts. */
  function nextDelay(): number {
    const delay = Math.min(retryMs * 2 ** failures, Math.max(MAX_RETRY_MS, retryMs))
    retryMs ||= RETRY_MS
    return delay * (0.25 + Math.random())
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = Number.isFinite(ms) ? setTimeout(resolve, ms) : undefined
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

function notify(kind: string, listeners: Iterable<Listener>) {
  // An error in the app's listener must not end the connection.
  for (const listener of listeners) void Promise.resolve({ kind }).then(listener)
}

/** A server-sent event; without a name it only changes the id or the delay in ms. */
type StreamEvent = { name?: string; id?: string; retry?: number }

const MAX_BLOCK = 65_536

/** Splits a stream of server-sent events, in pieces of any length, into events. */
export function createEventParser(dispatch: (event: StreamEvent) => void) {
  let rest = ''
  return (text: string) => {
    const blocks = (rest + text).split('\n\n')
    rest = (blocks.pop() ?? '').slice(-MAX_BLOCK)
    for (const block of blocks) {
      const event: StreamEvent = {}
      for (const line of block.split('\n')) {
        const [, field, value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? []
        if (field === 'event') event.name = value
        // An intermediary could send an id that is no valid header, or an endless delay.
        if (field === 'id' && /^[ -~]{0,1000}$/.test(value)) event.id = value
        if (field === 'retry' && /^\d{1,7}$/.test(value)) event.retry = Number(value)
      }
      dispatch(event)
    }
  }
}
