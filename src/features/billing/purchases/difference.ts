import { PERIOD_TOLERANCE_MS } from './periods.ts'
import type { Purchase } from './purchase.ts'

/** Whether the billing provider has stated another product or end of the current period than the store. */
export function isDiffering({ provided, productId, expiresAt, graceExpiresAt }: Purchase): boolean {
  if (provided === null) return false
  const ends = graceExpiresAt === null ? [expiresAt] : [expiresAt, graceExpiresAt]
  const isSameEnd = ends.some((end) => isWithinTolerance(end, provided.expiresAt))
  return provided.productId !== productId || !isSameEnd
}

function isWithinTolerance(a: number | null, b: number | null): boolean {
  return a === b || (a !== null && b !== null && Math.abs(a - b) <= PERIOD_TOLERANCE_MS)
}
