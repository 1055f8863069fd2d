import type { Timeline as TimelineService } from '../../../features/billing/access/timeline.ts'
import { MANAGEMENT_PAGES } from '../../../lib/active-subscriptions.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import type { ReplyOf } from '../../api.ts'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { storeName } from './labels.ts'

type Timeline = ReplyOf<TimelineService['read']>

/** Stores retry a failed payment for up to two months. */
const RETRIED_MS = 61 * DAY_MS

/** Whether the store may still charge, even after a pause or a failed payment. */
function mayBeCharged(line: Timeline['lines'][number]): boolean {
  const { active, willRenew, status, endsAt, replacedBy } = line
  if (replacedBy !== null) return false
  const isRetried = endsAt !== null && Date.parse(endsAt) > Date.now() - RETRIED_MS
  return status === 'paused' || (willRenew && (active || isRetried))
}

/** Warns about subscriptions that a store keeps charging after the account is deleted. */
export function ActiveSubscriptions({ id }: { id: string }) {
  const path = `people/${encodeSegment(id)}/timeline?environment=production`
  const timeline = useRemote<Timeline>(path)
  return (
    <Loaded from={timeline}>
      {({ lines }) => (
        <>
          {lines.filter(mayBeCharged).map(({ transactionId, plan, productId, store }) => {
            const page = MANAGEMENT_PAGES[store ?? '']
            return (
              <p key={transactionId} class="notice">
                <span>
                  <strong>{plan ?? productId ?? 'A subscription'} is not cancelled.</strong> The
                  store ({storeName(store)}) will keep charging for it after the account is deleted.
                  Ask the user to cancel it first{page ? ': ' : ', where they bought it.'}
                  {page && (
                    <a href={page} target="_blank" rel="noreferrer">
                      {page.replace('https://', '')}
                    </a>
                  )}
                </span>
              </p>
            )
          })}
        </>
      )}
    </Loaded>
  )
}
