import type { Line } from './fold.ts'

const DAY = 24 * 60 * 60 * 1000

/**
 * Lines of one customer and environment that end because another one began: on the Play Store a changed
 * product comes as a line of its own, and a purchase takes the place of a temporary grant.
 */
export function supersede<T extends Line>(lines: T[]): T[] {
  return lines.map((line) => {
    const begins = lines
      .filter((other) => other !== line && replaces(other, line))
      .map(({ startedAt }) => Math.max(startedAt, line.startedAt))
    if (begins.length === 0) return line
    const endedAt = Math.min(line.endedAt ?? Number.POSITIVE_INFINITY, ...begins)
    return { ...line, endedAt, willRenew: false, pendingProductId: null }
  })
}

function replaces(other: Line, line: Line): boolean {
  if (other.environment !== line.environment || other.isTemporary) return false
  if (line.isTemporary) return other.startedAt >= line.startedAt - DAY
  const { changedAt, changedTo, store } = line
  if (store !== 'PLAY_STORE' || other.store !== 'PLAY_STORE' || changedAt === null) return false
  if (other.startedAt <= (line.purchasedAt ?? line.startedAt)) return false
  if (changedTo !== null) {
    return other.startedAt >= changedAt - DAY && isProduct(other.productId, changedTo)
  }
  return Math.abs(other.startedAt - changedAt) <= DAY
}

/** Google names a product with or without its base plan: `pro:monthly` and `pro`. */
function isProduct(productId: string | null, wanted: string): boolean {
  return productId === wanted || productId?.split(':')[0] === wanted
}
