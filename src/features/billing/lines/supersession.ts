import { DAY_MS } from '../../../lib/durations.ts'
import type { Line } from './line.ts'

/**
 * Lines of one customer and environment that end because another one began: on the Play Store a changed
 * product comes as a line of its own, and a purchase takes the place of a temporary grant.
 */
export function supersede<T extends Line>(lines: T[]): T[] {
  if (!lines.some(isReplaceable)) return lines
  const purchases = byStart(lines.filter(({ isTemporary }) => !isTemporary))
  const onPlayStore = purchases.filter(({ store }) => store === 'PLAY_STORE')
  const byProduct = new Map<string, T[]>()
  for (const line of onPlayStore) {
    for (const name of namesOf(line)) {
      const same = byProduct.get(name) ?? []
      same.push(line)
      byProduct.set(name, same)
    }
  }
  return lines.map((line) => {
    const replacement = isReplaceable(line) ? replacementOf(line) : undefined
    if (replacement === undefined) return line
    const begins = Math.max(replacement.startedAt, line.startedAt)
    const endedAt = Math.min(line.endedAt ?? Number.POSITIVE_INFINITY, begins)
    return { ...line, endedAt, willRenew: false, pendingProductId: null }
  })

  /** The line that began first of all that replace this one. */
  function replacementOf(line: T): T | undefined {
    const { startedAt, purchasedAt, changedAt, changedTo } = line
    if (line.isTemporary) return firstFrom(purchases, startedAt - DAY_MS, line)
    const from = Math.max((changedAt ?? 0) - DAY_MS, (purchasedAt ?? startedAt) + 1)
    if (changedTo !== null) return firstFrom(byProduct.get(changedTo) ?? [], from, line)
    const found = firstFrom(onPlayStore, from, line)
    return found && found.startedAt <= (changedAt ?? 0) + DAY_MS ? found : undefined
  }
}

function isReplaceable({ isTemporary, store, changedAt }: Line): boolean {
  return isTemporary || (store === 'PLAY_STORE' && changedAt !== null)
}

function byStart<T extends Line>(lines: T[]): T[] {
  return lines.toSorted((a, b) => a.startedAt - b.startedAt)
}

/** The first line, out of sorted ones, that began at `from` or later and is another one than `self`. */
function firstFrom<T extends Line>(sorted: T[], from: number, self: T): T | undefined {
  let low = 0
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >> 1
    if ((sorted[middle]?.startedAt ?? 0) < from) low = middle + 1
    else high = middle
  }
  return sorted[low] === self ? sorted[low + 1] : sorted[low]
}

/** Google names a product with or without its base plan: `pro:monthly` and `pro`. */
function namesOf({ productId }: Line): string[] {
  if (productId === null) return []
  return [...new Set([productId, productId.split(':')[0] ?? productId])]
}
