import { DAY_MS } from '../../../lib/time/durations.ts'
import type { Purchase } from './purchase.ts'

/**
 * On the Play Store, a product change starts a new subscription; any purchase that gives access replaces a temporary
 * grant.
 */
export function endSuperseded<T extends Purchase>(purchases: T[]): T[] {
  const replaced = findReplacements(purchases)
  if (replaced.size === 0) return purchases
  return purchases.map((purchase) => {
    const replacement = replaced.get(purchase)
    if (replacement === undefined) return purchase
    const replacedAt = Math.max(replacement.startedAt, purchase.startedAt)
    const endedAt = Math.min(purchase.endedAt ?? Number.POSITIVE_INFINITY, replacedAt)
    return { ...purchase, endedAt, willRenew: false, pendingProductId: null }
  })
}

/** The replacement of each replaced purchase, within one customer and environment. */
export function findReplacements<T extends Purchase>(purchases: T[]): Map<T, T> {
  if (!purchases.some(isReplaceable)) return new Map()
  const replacements = purchases
    .filter(({ isTemporary, grant }) => !isTemporary && grant === null)
    // Coins replace nothing.
    .filter(({ expiresAt, entitlementIds }) => expiresAt !== null || entitlementIds.length > 0)
    .toSorted((a, b) => a.startedAt - b.startedAt)
  const onPlayStore = replacements.filter(
    ({ store, expiresAt }) => store === 'PLAY_STORE' && expiresAt !== null,
  )
  const byProduct = new Map<string, T[]>()
  for (const purchase of onPlayStore) {
    for (const name of listProductIds(purchase)) {
      const group = byProduct.get(name) ?? []
      group.push(purchase)
      byProduct.set(name, group)
    }
  }
  return new Map(
    purchases.flatMap((purchase) => {
      const replacement = isReplaceable(purchase) ? findReplacement(purchase) : undefined
      return replacement === undefined ? [] : [[purchase, replacement]]
    }),
  )

  function findReplacement(purchase: T): T | undefined {
    const { startedAt, purchasedAt, changedAt, changedTo } = purchase
    if (purchase.isTemporary) return firstFrom(replacements, startedAt - DAY_MS, purchase)
    const from = Math.max((changedAt ?? 0) - DAY_MS, (purchasedAt ?? startedAt) + 1)
    if (changedTo !== null) return firstFrom(byProduct.get(changedTo) ?? [], from, purchase)
    const found = firstFrom(onPlayStore, from, purchase)
    return found && found.startedAt <= (changedAt ?? 0) + DAY_MS ? found : undefined
  }
}

export function isReplaceable({ isTemporary, store, changedAt }: Purchase): boolean {
  return isTemporary || (store === 'PLAY_STORE' && changedAt !== null)
}

/** The first purchase at `from` or later, other than `self`. */
function firstFrom<T extends Purchase>(sorted: T[], from: number, self: T): T | undefined {
  let low = 0
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >> 1
    if ((sorted[middle]?.startedAt ?? 0) < from) low = middle + 1
    else high = middle
  }
  return sorted[low] === self ? sorted[low + 1] : sorted[low]
}

/** Google's products, with and without the base plan: `pro:monthly` and `pro`. */
function listProductIds({ productId }: Purchase): string[] {
  if (productId === null) return []
  return [...new Set([productId, productId.split(':')[0] ?? productId])]
}
