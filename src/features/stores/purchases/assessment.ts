import { type AccessSettings, assessWithPlans } from '../../billing/access/assessment.ts'
import type { Catalogue } from '../../billing/access/plan-matching.ts'
import type { PlanLike } from '../../billing/access/subscription.ts'
import type { PurchaseAccess } from '../../billing/purchases/access.ts'
import { PERIOD_TOLERANCE_MS } from '../../billing/purchases/periods.ts'
import type { Purchase } from '../../billing/purchases/purchase.ts'

type AssessmentDeps = {
  listPlans: (wanted: string[]) => Promise<Catalogue<PlanLike>>
  accessSettings: AccessSettings
  now: () => Date
}

export async function createAssessment({ listPlans, accessSettings, now }: AssessmentDeps) {
  const catalogue = await listPlans([])
  return (purchase: Purchase): PurchaseAccess => {
    const [assessed] = assessWithPlans([purchase], catalogue, now().getTime(), accessSettings)
    if (!assessed) throw new Error('nothing was assessed')
    return assessed
  }
}

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
