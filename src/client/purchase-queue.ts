import type { ApiError } from './api-error.ts'
import { type Calls, unwrap } from './calls.ts'
import type { PurchaseResult, SubmittedPurchase } from './models.ts'
import type { PartsDeps } from './parts.ts'
import { retryDelay } from './retry-delay.ts'
import { notSignedIn, userChanged } from './session-replies.ts'
import { createSlot } from './storage.ts'
import type { QueuedPurchaseResult } from './stores.ts'

type Queue = { baseUrl: string; userId: string; purchases: SubmittedPurchase[]; others?: Queue[] }
type Listener = (result: QueuedPurchaseResult) => void

const PATH = '/api/user/purchases/v1'
const CHECK_MS = 60_000

/** Keeps purchases on this device until the server has decided about them. */
export function createPurchaseQueue(deps: PartsDeps & Pick<Calls, 'withToken'>) {
  const { baseUrl, session, call, withToken, runCall, onAuthChange, storage } = deps
  const slot = createSlot(storage, 'homeport.purchases')
  const listeners = new Set<Listener>()
  let [failures, checks] = [0, 0]
  let timer: ReturnType<typeof setTimeout> | undefined
  let lastRound: Promise<unknown> = Promise.resolve()
  let lastChange: Promise<unknown> = Promise.resolve()
  onAuthChange(({ reason }) => reason === 'signed_in' && submit())
  submit()
  const onPurchaseResult = (listener: Listener) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return { queuePurchase, onPurchaseResult }

  async function queuePurchase(purchase: SubmittedPurchase): Promise<void> {
    const { userId } = (await session.read()) ?? {}
    if (userId === undefined) throw notSignedIn()
    await change(userId, (queue) => [...queue.filter(isNot(purchase)), purchase])
    submit()
  }

  function submit() {
    const round = lastRound.then(submitAll).catch(({ code, retryAfter }: ApiError) => {
      // Without a session, the next sign-in tries again.
      if (/^(unauthenticated|conflict)$/.test(code)) return null
      return retryAfter ? retryAfter * 1000 : retryDelay(failures++)
    })
    lastRound = round.then((wait) => {
      clearTimeout(timer)
      if (wait !== null) timer = setTimeout(submit, wait)
    })
  }

  /** Returns the ms until the next attempt; null if there is nothing to wait for. */
  async function submitAll(): Promise<number | null> {
    const userId = (await session.read())?.userId ?? ''
    let isUndecided = false
    for (const purchase of (await load(userId)).purchases) {
      const result = await submitAs(userId, purchase).catch(toRefusal)
      failures = 0
      if (/^(checking|pending)$/.test(result.outcome)) isUndecided = true
      else {
        for (const listener of listeners) void Promise.resolve({ purchase, result }).then(listener)
        await change(userId, (latest) => latest.filter(isNot(purchase)))
      }
    }
    checks = isUndecided ? checks + 1 : 0
    return isUndecided ? CHECK_MS * Math.min(2 ** (checks - 1), 60) : null
  }

  /** The token must be this user's: a purchase must not be bound to another one. */
  function submitAs(userId: string, purchase: SubmittedPurchase): Promise<PurchaseResult> {
    return runCall({}, (deadline) =>
      withToken(async (token) => {
        if ((await session.read())?.userId !== userId) throw userChanged()
        return call('post', PATH, token, { json: { purchases: [purchase] }, deadline })
      }),
    ).then((reply) => unwrap<'post', typeof PATH>(reply).results[0] as PurchaseResult)
  }

  function change(userId: string, edit: (queue: SubmittedPurchase[]) => SubmittedPurchase[]) {
    const done = lastChange.then(async () => {
      const queue = await load(userId)
      await slot.write(JSON.stringify({ ...queue, purchases: edit(queue.purchases) }))
    })
    lastChange = done.catch(() => {})
    return done
  }

  /** `others`: what other users have queued, also for other servers. */
  async function load(userId: string): Promise<Queue> {
    const { others = [], ...last } = JSON.parse((await slot.read()) || '{}') as Queue
    const isOwn = (queue: Queue) => queue.baseUrl === baseUrl && queue.userId === userId
    const all = [...others, last].filter(({ purchases }) => purchases?.length > 0)
    const { purchases = [] } = all.find(isOwn) ?? {}
    return { baseUrl, userId, purchases, others: all.filter((queue) => !isOwn(queue)) }
  }
}

const isNot = (purchase: SubmittedPurchase) => (other: SubmittedPurchase) =>
  JSON.stringify(other) !== JSON.stringify(purchase)

/** The server will never accept what it calls invalid. */
function toRefusal(error: ApiError): PurchaseResult {
  const { status, code } = error
  const isRefused = status >= 400 && status < 500 && ![401, 408, 429].includes(status)
  if (!isRefused || code === 'reply_invalid') throw error
  const unknown = { environment: null, transactionId: null, productId: null, expiresAt: null }
  return { outcome: 'refused', code, ...unknown } as PurchaseResult
}
