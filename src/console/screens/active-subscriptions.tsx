import type { Timeline as TimelineService } from '../../features/billing/access/timeline.ts'
import { encodeSegment } from '../../lib/path-segment.ts'
import type { ReplyOf } from '../api.ts'
import { storeName } from '../purchase-words.ts'
import { Loaded, useRemote } from '../ui/remote.tsx'

type Timeline = ReplyOf<TimelineService['read']>

/** Where users cancel a subscription themselves. */
const CANCELLATION_PAGES: Record<string, string> = {
  APP_STORE: 'https://apps.apple.com/account/subscriptions',
  MAC_APP_STORE: 'https://apps.apple.com/account/subscriptions',
  PLAY_STORE: 'https://play.google.com/store/account/subscriptions',
}

/** Warns about subscriptions that a store goes on charging after the account is deleted. */
export function ActiveSubscriptions({ id }: { id: string }) {
  const path = `people/${encodeSegment(id)}/timeline?environment=production`
  const timeline = useRemote<Timeline>(path)
  return (
    <Loaded from={timeline}>
      {({ lines }) => (
        <>
          {lines
            .filter(({ active, willRenew }) => active && willRenew)
            .map(({ transactionId, plan, productId, store }) => {
              const page = CANCELLATION_PAGES[store ?? '']
              return (
                <p key={transactionId} class="notice">
                  <span>
                    <strong>{plan ?? productId ?? 'A subscription'} is not cancelled.</strong> The
                    store ({storeName(store)}) goes on charging for it after the deletion. Ask the
                    user to cancel it first{page ? ': ' : ', where they bought it.'}
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
