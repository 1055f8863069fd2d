import type { SupportDetails } from '../../../features/billing/console.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { declarations } from '../../declared.ts'
import { linkTo } from '../../router.ts'
import { Badge } from '../../ui/parts.tsx'
import { useRemote } from '../../ui/remote.tsx'
import { describeStatus } from './labels.ts'

export type Reload = () => Promise<void>

/** Why support actions are unavailable here, and the plans' entitlements; null until loaded. */
export function useSupportDetails(): SupportDetails | null {
  return useRemote<SupportDetails>('billing/support').data
}

export function StatusBadge({ purchase }: { purchase: Parameters<typeof describeStatus>[0] }) {
  const [name, tone] = describeStatus(purchase)
  return <Badge tone={tone}>{name}</Badge>
}

/** Whether there is a screen of purchases. It belongs to the app stores, which a fork may leave out. */
export function hasPurchases(): boolean {
  return 'purchases/:id/ask' in declarations.value.actions
}

type LinkProps = { id: string; href?: string }

/** An id, as a link to its purchase if there is a screen for it. */
export function PurchaseLink({ id, href = linkTo(`purchases/${encodeSegment(id)}`) }: LinkProps) {
  return hasPurchases() ? <a href={href}>{id}</a> : <span>{id}</span>
}
