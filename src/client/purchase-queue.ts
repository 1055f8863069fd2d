import type { ApiError } from './api-error.ts'
import { unwrap } from './calls.ts'
import type { ChangesDeps } from './changes.ts'
import type { PurchaseResult, SubmittedPurchase } from './models.ts'
import { createPurchaseStore, toRefusal } from './purchase-store.ts'
import { retryAfterMs, retryDelay } from './retry-delay.ts'
import { notSignedIn } from './session-replies.ts'
import type { Storage } from './storage.ts'
import type { QueuedPurchaseResult } from './stores.ts'

const PATH = '/api/user/purchases/v1'
const CHECK_MS = 60_000
const MAX_CHECK_MS = 3_600_000
/** Google may not know a new purchase yet, and the server repeats its response for ten minutes. */
const UNKNOWN_MS = 600_000

type QueueDeps = ChangesDeps & { storage: Storage; baseUrl: string; now: () => number }

/** Submits queued purchases one at a time until their results are final. */
export function createPurchaseQueue({ session, call, withToken, runCall, ...deps }: QueueDeps) {
  const store = createPurchaseStore(deps.storage, deps.baseUrl)
  const listeners = new Set<(result: QueuedPurchaseResult) => void>()
  /** When each purchase was first not final, in ms. */
  const firstChecks = new Map<string, number>()
  let [failures, checks] = [0, 0]
  let timer: ReturnType<typeof setTimeout> | undefined
  let lastRound: Promise<unknown> = Promise.resolve()
  deps.onAuthChange(({ reason }) => reason === 'signed_in' && submit())
  submit()
  return { queuePurchase, onPurchaseResult }

  async function queuePurchase(purchase: SubmittedPurchase, userId?: string) {
    if (userId === undefined) throw notSignedIn()
    await store.add(userId, purchase)
    submit()
  }

  function onPurchaseResult(listener: (result: QueuedPurchaseResult) => void) {
    const registered: typeof listener = (result) => listener(result)
    listeners.add(registered)
    return () => void listeners.delete(registered)
  }

  function submit() {
    const round = lastRound.then(submitAll).catch(({ code, retryAfter }: ApiError) => {
      // The next sign-in tries again.
      if (/^(unauthenticated|conflict)$/.test(code)) return null
      return retryAfterMs(retryAfter) || retryDelay(failures++)
    })
    lastRound = round.then((wait) => {
      clearTimeout(timer)
      if (wait !== null) timer = setTimeout(submit, wait)
    })
  }

  /** Returns the ms until undecided purchases are submitted again; null if there are none. */
  async function submitAll(): Promise<number | null> {
    const { userId = '', guestId } = (await session.read()) ?? {}
    if (guestId) await store.move(guestId, userId)
    let isUndecided = false
    for (const purchase of await store.read(userId)) {
      const result = await submitAs(userId, purchase).catch(toRefusal)
      failures = 0
      if (!isFinal(purchase, result)) isUndecided = true
      else {
        for (const listener of listeners) void Promise.resolve({ purchase, result }).then(listener)
        await store.remove(userId, purchase)
      }
    }
    checks = isUndecided ? checks + 1 : 0
    return isUndecided ? Math.min(CHECK_MS * 2 ** (checks - 1), MAX_CHECK_MS) : null
  }

  function isFinal(purchase: SubmittedPurchase, { outcome, code }: PurchaseResult): boolean {
    const key = JSON.stringify(purchase)
    const since = firstChecks.get(key) ?? deps.now()
    firstChecks.set(key, since)
    const isNew = purchase.store === 'play_store' && deps.now() < since + UNKNOWN_MS
    return !/^(checking|pending)$/.test(outcome) && !(isNew && code === 'purchase_gone')
  }

  /** The token must be this user's: a purchase must not be bound to another user. */
  async function submitAs(userId: string, purchase: SubmittedPurchase): Promise<PurchaseResult> {
    const reply = await runCall({}, (deadline) =>
      withToken(
        (token) => call('post', PATH, token, { json: { purchases: [purchase] }, deadline }),
        userId,
      ),
    )
    return unwrap<'post', typeof PATH>(reply).results[0] as PurchaseResult
  }
}
