import { useState } from 'preact/hooks'
import type { Timeline as TimelineService } from '../../../features/billing/access/timeline.ts'
import { addPrices } from '../../../lib/money/prices.ts'
import type { Difference } from '../../../lib/text/differences.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { HOUR_MS } from '../../../lib/time/durations.ts'
import type { ReplyOf } from '../../api.ts'
import { day, durationName, money, plural, words } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Changes } from '../../ui/changes.tsx'
import { Badge, Card, Time } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { eventName, fieldWords } from './labels.ts'

export type PurchaseHistory = ReplyOf<TimelineService['readHistory']>
type Purchase = Pick<PurchaseHistory, 'events' | 'isCut' | 'paid'> & {
  /** Shown if there are several purchases. */
  name?: string
}
export type HistoryEvent = PurchaseHistory['events'][number]
type ShownEvent = HistoryEvent & { product: string; isFirst: boolean }

/** Labels for a changed field in the summary of an event: if set or true, and if cleared or false. */
const STATEMENTS: Record<string, [set: string, cleared: string]> = {
  startedAt: ['started', 'start removed'],
  refundedAt: ['refunded', 'refund reversed'],
  endedAt: ['ended', 'active again'],
  pausedAt: ['paused', 'resumed'],
  billingIssueDetectedAt: ['payment failed', 'payment recovered'],
  unsubscribeDetectedAt: ['cancelled', 'cancellation reverted'],
  willRenew: ['will renew', 'won’t renew'],
}
const SHOWN_AT_FIRST = 10

/** The events of purchases as one timeline, newest first: what each changed and how much was paid. */
export function History({ purchases }: { purchases: Purchase[] }) {
  const [isExpanded, setExpanded] = useState(false)
  const events = purchases
    .flatMap(({ events: own, isCut, name = '' }) =>
      own.map((event) => ({ ...event, product: name, isFirst: !isCut && event === own.at(-1) })),
    )
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
  const shown = isExpanded ? events : events.slice(0, SHOWN_AT_FIRST)
  const paid = totalPaid(purchases)
  if (events.length === 0) return null
  return (
    <Card title="History">
      <Table
        caption="Events"
        columns={[EVENT, OCCURRED, purchases.length > 1 && PRODUCT, EFFECT, AMOUNT]}
        rows={shown}
        keyOf={({ eventId }) => eventId}
      />
      {shown.length < events.length && (
        <button type="button" onClick={() => setExpanded(true)}>
          Show all {events.length} events
        </button>
      )}
      {purchases.some(({ isCut }) => isCut) && <p class="soft">Earlier events are not shown.</p>}
      {paid !== '' && <p class="soft number">Paid in total: {paid}</p>}
    </Card>
  )
}

/** The total paid for purchases, such as `€9.99 + $4.99`; empty for none. */
export function totalPaid(purchases: Pick<Purchase, 'paid'>[]): string {
  return addPrices(purchases.flatMap(({ paid }) => paid))
    .map(money)
    .join(' + ')
}

const OCCURRED: Column<ShownEvent> = { name: 'Occurred', cell: ({ at }) => <Time at={at} /> }
const EVENT: Column<ShownEvent> = {
  name: 'Event',
  cell: (event) => (
    <>
      <a href={linkTo(`events/${encodeSegment(event.eventId)}`)}>{eventName(event)}</a>{' '}
      {event.outcome === 'failed' && <Badge tone="bad">failed</Badge>}
    </>
  ),
}
const PRODUCT: Column<ShownEvent> = { name: 'Product', field: 'product' }
const EFFECT: Column<ShownEvent> = { name: 'What it changed', cell: Effect }
const AMOUNT: Column<ShownEvent> = {
  name: 'Amount',
  kind: 'number',
  onPhone: 'aside',
  cell: ({ price }) => price && money(price),
}

function Effect({
  type,
  outcome,
  at,
  receivedAt,
  changes,
  linkedTo,
  support,
  isFirst,
}: ShownEvent) {
  const lateMs = Date.parse(receivedAt) - Date.parse(at)
  const isFailed = outcome === 'failed'
  return (
    <>
      {changes.length === 0 ? (
        <span class="soft">No changes</span>
      ) : (
        <details>
          <summary>
            {isFailed && 'Not applied: '}
            {summarize(changes, type)}
          </summary>
          <Changes changes={changes.map(inWords)} />
        </details>
      )}
      {linkedTo !== null && (
        <p>
          Linked to{' '}
          <a class="mono" href={linkTo(`people/${encodeSegment(linkedTo)}/subscription`)}>
            {linkedTo}
          </a>
        </p>
      )}
      {support !== null && <p>{supportText(support)}</p>}
      {lateMs > HOUR_MS && (
        <p class="soft">
          Received {durationName(lateMs)} late
          {!isFirst &&
            (isFailed
              ? '; access is still based on the earlier events'
              : '; until then, access was based on the earlier events')}
        </p>
      )}
    </>
  )
}

/** A change with the names and values of its field in words. */
export function inWords({ path, before, after }: Difference): Difference {
  return { path: words(path), before: fieldWords(path, before), after: fieldWords(path, after) }
}

/** `by ann: beta tester`. */
export function supportText({ by, reason }: { by: string; reason: string }): string {
  return `by ${by}: ${reason}`
}

/** `Ended; won’t renew; 2 other changes`. */
function summarize(changes: Difference[], type: string): string {
  const statements = Object.entries(STATEMENTS).flatMap(([name, [set, cleared]]) => {
    const change = changes.find(({ path }) => path === name)
    if (change === undefined) return []
    // The earlier period stays refunded.
    if (name === 'refundedAt' && !change.after && type === 'RENEWAL') return ['new period paid']
    return [change.after ? set : cleared]
  })
  const end = changes.find(({ path }) => path === 'expiresAt')?.after
  if (typeof end === 'string')
    statements.push(`paid until ${day(new Date(Date.parse(end) - 1).toISOString())}`)
  const others = changes.length - statements.length
  const noun = statements.length > 0 ? 'other change' : 'change'
  return [...statements, ...(others > 0 ? [plural(others, noun)] : [])].join('; ')
}
