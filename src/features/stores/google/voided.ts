import { sha256 } from '../../../lib/crypto/hash.ts'
import type { Json } from '../../../lib/text/json.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { playApp } from '../checks/apps.ts'
import { text, time, token } from '../json.ts'
import { PlayApiError } from './api/api-error.ts'
import type { PlayContext } from './context.ts'
import { playEvent, type RefundDocument } from './event.ts'
import { hashToken, type KnownPurchase, URGENCY } from './refresh/purchases.ts'

type VoidedOrder = RefundDocument['voided']

/** Google lists 30 days; one less, in case clocks differ. */
const HORIZON_MS = 29 * DAY_MS
/** A refund may appear late. */
const OVERLAP_MS = DAY_MS

/** Records refunds and chargebacks, which no response about a purchase mentions. */
export function createVoided(deps: PlayContext) {
  const { db, play, purchases, settings, storeApps, eventInbox, now } = deps
  return { record, catchUp }

  /** Reads the refunds of all apps since the last run. Returns their number. Throws `PlayApiError`. */
  async function catchUp(signal?: AbortSignal): Promise<number> {
    let count = 0
    let failure: PlayApiError | null = null
    for (const packageName of settings.playPackages) {
      try {
        count += await catchUpApp(packageName, signal)
      } catch (error) {
        if (!(error instanceof PlayApiError)) throw error
        // Google may refuse the account for one app only.
        failure ??= error
      }
    }
    if (failure !== null) throw failure
    return count
  }

  async function catchUpApp(packageName: string, signal?: AbortSignal): Promise<number> {
    const app = playApp(packageName)
    const until = now()
    const { completeUntil } = await storeApps.read(app)
    const from = Math.max(
      until.getTime() - HORIZON_MS,
      (completeUntil?.getTime() ?? 0) - OVERLAP_MS,
    )
    let count = 0
    let isComplete = true
    for await (const page of play.readVoided(packageName, new Date(from), until, signal)) {
      for (const voided of page) {
        if ((await recordListed(packageName, voided)) === false) isComplete = false
      }
      count += page.length
    }
    // Otherwise the next run lists the same refunds again.
    if (isComplete) await storeApps.markComplete(app, until)
    return count
  }

  /** False if the purchase must be queried first. */
  async function recordListed(packageName: string, voided: Json) {
    const purchaseToken = token(voided['purchaseToken'])
    const orderId = text(voided['orderId'])
    const at = time(voided['voidedTimeMillis'])
    if (purchaseToken === null || orderId === null || at === null) return true
    return db.write(async (tx) => {
      const known = await purchases.find(tx, hashToken(purchaseToken))
      if (known === null) {
        const purchase = { packageName, purchaseToken, kind: null, productId: null }
        await purchases.enqueue(tx, purchase, URGENCY.changed)
        return false
      }
      if (known.items.length === 0 && known.dueAt !== null) return false
      const quantity = Number(voided['voidedQuantity'] ?? known.items[0]?.quantity ?? 1)
      const isPartial = quantity < (known.items[0]?.quantity ?? 1)
      const reason = Number(voided['voidedReason'] ?? 0)
      await record(tx, known, { orderId, at, isPartial, reason })
      return true
    })
  }

  async function record(
    tx: Tx,
    { tokenHash, packageName, items }: KnownPurchase,
    voided: VoidedOrder,
  ) {
    for (const { line, environment } of items) {
      const document: RefundDocument = { packageName, tokenHash, line, environment, voided }
      const bytes = Buffer.from(JSON.stringify(document))
      const hash = sha256(`${voided.orderId} ${line}`, 'hex')
      const event = playEvent(document)
      await eventInbox.recordOnce(tx, { provider: 'play_store', event, bytes, hash })
    }
  }
}
