import { parseJson } from '../lib/text/json.ts'
import type { ApiError } from './api-error.ts'
import type { PurchaseResult, SubmittedPurchase } from './models.ts'
import { createSlot, type Storage } from './storage.ts'
import { withTabLock } from './tabs.ts'

/** `others`: the queues of other users and servers. */
type Queue = { baseUrl: string; userId: string; purchases: SubmittedPurchase[]; others?: Queue[] }

/** Keeps the purchases that each user has queued on this device. */
export function createPurchaseStore(storage: Storage, baseUrl: string) {
  const slot = createSlot(storage, 'homeport.purchases')
  let lastChange: Promise<unknown> = Promise.resolve()
  const store = {
    read: async (userId: string) => (await load(userId)).purchases,
    add: (userId: string, purchase: SubmittedPurchase) =>
      change(userId, (queue) => [...queue.filter(isNot(purchase)), purchase]),
    remove: (userId: string, purchase: SubmittedPurchase) =>
      change(userId, (queue) => queue.filter(isNot(purchase))),
    /** Moves a guest's purchases to the account that the guest has signed in to. */
    move: async (guestId: string, userId: string) => {
      for (const purchase of await store.read(guestId)) {
        await store.add(userId, purchase)
        await store.remove(guestId, purchase)
      }
    },
  }
  return store

  /** One change at a time, in all tabs. */
  function change(
    userId: string,
    edit: (queue: SubmittedPurchase[]) => SubmittedPurchase[],
  ): Promise<void> {
    const work = async () => {
      const queue = await load(userId)
      await slot.write(JSON.stringify({ ...queue, purchases: edit(queue.purchases) }))
    }
    const result = lastChange.then(() => withTabLock(`homeport.purchases ${baseUrl}`, work))
    lastChange = result.catch(() => {})
    return result
  }

  /** Returns an empty queue if the stored text is damaged. */
  async function load(userId: string): Promise<Queue> {
    const { others = [], ...last }: Partial<Queue> = Object(parseJson(await slot.read()))
    const isOwn = (queue: Queue) => queue.baseUrl === baseUrl && queue.userId === userId
    const all = [...others, last as Queue].filter(({ purchases }) => purchases?.length > 0)
    const { purchases = [] } = all.find(isOwn) ?? {}
    return { baseUrl, userId, purchases, others: all.filter((queue) => !isOwn(queue)) }
  }
}

function isNot(purchase: SubmittedPurchase) {
  const text = JSON.stringify(purchase)
  return (other: SubmittedPurchase) => JSON.stringify(other) !== text
}

/** The result for a purchase that the server refuses as invalid. Throws any other error. */
export function toRefusal(error: ApiError): PurchaseResult {
  const { status, code, isGenuine } = error
  const isRefused = status >= 400 && status < 500 && ![401, 408, 429].includes(status)
  // An intermediary's refusal must not lose a purchase.
  if (!isRefused || !isGenuine || code === 'reply_invalid') throw error
  const unknown = { environment: null, transactionId: null, productId: null, expiresAt: null }
  return { outcome: 'refused', code, ...unknown } as PurchaseResult
}
