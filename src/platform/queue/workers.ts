import { oneAtATime } from '../../lib/concurrency/one-at-a-time.ts'
import type { Log } from '../../lib/log/log.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import type { Tx } from '../db/db.ts'

export type Capacity = {
  slots: number
  /** How many slots are free for a key; 0 if nothing has changed for it. */
  countSlots: (key: string) => number
  busyKeys: string[]
  /** Whether all keys are considered: then claims are repeated until one finds nothing. */
  isForAll: boolean
  signal: AbortSignal
}

/** `hasSlot` is false for an item that was claimed elsewhere: it must not keep the queue waiting. */
type UnderWay = { key: string | null; hasSlot: boolean; ended: Promise<void> }

type WorkOn<Result> = (signal: AbortSignal) => Promise<Result>

export type WorkersDeps<Item> = {
  /** For the log, such as `webhook queue`. */
  name: string
  /** How many items are worked on at once, and how many with the same key. */
  slots: number
  slotsPerKey?: (key: string) => number
  toKey?: (item: Item) => string | null
  claim: (capacity: Capacity) => Promise<Item[]>
  work: (item: Item, signal: AbortSignal) => Promise<void>
  /** Gives back an item whose work was aborted. */
  release?: (item: Item) => Promise<void>
  now: () => Date
  log: Log
}

/** Long enough for the response to be sent, so that its timing does not reveal whether there is anything to do. */
const WAKE_DELAY_MS = 2
/** Items due later are left to the job that wakes all queues every minute. */
const MAX_TIMER_MS = MINUTE_MS
const STOP_GRACE_MS = 3_000

/** Works on items in limited slots: when woken, when a slot becomes free, and when an item is due. Logs errors. */
export function createWorkers<Item extends { id: string }>(deps: WorkersDeps<Item>) {
  const { name, slots, claim, work, release, now, log } = deps
  const { slotsPerKey = () => slots, toKey = () => null } = deps
  const underWay = new Map<string, UnderWay>()
  const timers = new Map<number, NodeJS.Timeout>()
  const stopping = new AbortController()
  const { signal } = stopping
  const claimDue = oneAtATime(claimAndStart)
  let woken: Set<string> | null = new Set()
  let started = 0
  let isWakeScheduled = false
  let isStopped = false
  return { wake, wakeAfter, wakeAt, flush, run, stop, underWay }

  /** Starts what is due, in the background. With `keys`, only items with these keys are claimed. */
  function wake(keys: string[] | null = null) {
    addWake(keys)
    claimDue().catch((err) => {
      if (!isStopped) log.error({ err }, `the ${name} could not be processed`)
    })
  }

  /** Wakes soon after the commit of a change. */
  function wakeAfter(tx: Tx, keys: string[] | null = null) {
    tx.afterCommit(() => {
      addWake(keys)
      if (isWakeScheduled) return
      isWakeScheduled = true
      setTimeout(() => {
        isWakeScheduled = false
        wake([])
      }, WAKE_DELAY_MS)
    })
  }

  function addWake(keys: string[] | null) {
    woken = keys && (woken?.union(new Set(keys)) ?? null)
  }

  /** Works on everything that is due, and waits for it. */
  async function flush() {
    let before = 0
    do {
      await waitForAll()
      before = started
      addWake(null)
      await claimDue()
    } while (started > before || underWay.size > 0)
  }

  async function claimAndStart() {
    const keys = woken
    woken = new Set()
    try {
      while (!isStopped && freeSlots() > 0 && keys?.size !== 0) {
        const busyKeys = [...underWay.values()].flatMap(({ key }) => key ?? [])
        const countSlots = (key: string) => (keys?.has(key) === false ? 0 : countFreeSlots(key))
        const isForAll = keys === null
        const claimed = await claim({ slots: freeSlots(), countSlots, busyKeys, isForAll, signal })
        for (const item of claimed) start(item)
        if (claimed.length === 0 || !isForAll) return
      }
    } catch (error) {
      addWake(null)
      throw error
    }
  }

  function freeSlots(): number {
    return slots - [...underWay.values()].filter(({ hasSlot }) => hasSlot).length
  }

  function countFreeSlots(key: string): number {
    return slotsPerKey(key) - [...underWay.values()].filter((one) => one.key === key).length
  }

  function start(item: Item) {
    started++
    run(item, () => work(item, signal), true).catch((err) => {
      if (signal.aborted) return
      log.error({ err, item: item.id }, `an item of the ${name} could not be processed`)
    })
  }

  /** Works on an item that was claimed elsewhere, and returns the result. */
  async function run<Result>(item: Item, workOn: WorkOn<Result>, hasSlot = false) {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const key = toKey(item)
    underWay.set(item.id, { key, hasSlot, ended })
    try {
      return await workOn(signal)
    } catch (error) {
      if (signal.aborted) await release?.(item)
      throw error
    } finally {
      const wasFull = freeSlots() <= 0
      underWay.delete(item.id)
      end()
      wake(wasFull || key === null ? null : [key])
    }
  }

  /** Wakes when an item is due, with one timer per second. */
  function wakeAt(dueAt: Date) {
    const second = Math.ceil(dueAt.getTime() / 1000)
    const isLate = dueAt.getTime() - now().getTime() > MAX_TIMER_MS
    if (isStopped || isLate || timers.has(second)) return
    const wakeAll = () => {
      timers.delete(second)
      wake()
    }
    timers.set(second, setTimeout(wakeAll, second * 1000 - now().getTime()))
  }

  /** Stops claiming, waits briefly for the items under way, and aborts the others. */
  async function stop(graceMs = STOP_GRACE_MS) {
    isStopped = true
    for (const timer of timers.values()) clearTimeout(timer)
    const ended = claimDue()
      .catch(() => {})
      .then(waitForAll)
    await Promise.race([ended, Bun.sleep(graceMs)])
    stopping.abort()
    await ended
  }

  async function waitForAll() {
    await Promise.all([...underWay.values()].map(({ ended }) => ended))
  }
}
