import type { EventSearch } from '../../../features/billing/inbox/event-search.ts'
import type { AccountSummary } from '../../../features/users/accounts/directory.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { HOUR_MS } from '../../../lib/time/durations.ts'
import { failure, type ReplyOf } from '../../api.ts'
import { durationName, money, unnamedUser } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Changes } from '../../ui/changes.tsx'
import { ActionButton } from '../../ui/declared.tsx'
import {
  Badge,
  Card,
  Copy,
  Day,
  Details,
  type Fact,
  type Facts,
  Sentence,
  Time,
  Title,
} from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { type HistoryEvent, inWords } from '../purchases/history.tsx'
import { eventName, failureReason } from '../purchases/labels.ts'
import { PurchaseLink } from '../purchases/parts.tsx'
import { Body } from './body.tsx'

export type FoundEvent = ReplyOf<EventSearch['withDetails']>[number] & { plan: string | null }
type BillingEvent = ReplyOf<EventSearch['find']>['events'][number] & {
  body: string
  productId: string | null
  isRefund: boolean
  /** The transaction id of the purchase that the event belongs to. */
  purchase: string | null
  /** The amount paid or refunded; null for no payment, or if another event reports it. */
  price: HistoryEvent['price']
  /** What the event changed; null if unknown. */
  changes: HistoryEvent['changes'] | null
  access: string | null
  user: AccountSummary | null
}

/** One billing event with its payload and effect. */
export function EventScreen({ id }: { id: string }) {
  const event = useRemote<BillingEvent>(`events/${encodeSegment(id)}`)
  const replay = (
    <ActionButton
      path="events/:id/replay"
      input={{ id }}
      onDone={async ({ outcome, error }) => {
        await event.reload()
        if (outcome === 'failed') throw failure(`It failed again: ${error}`)
      }}
    />
  )
  return (
    <Loaded from={event}>
      {(data) => (
        <>
          <Title actions={replay}>{eventName(data)}</Title>
          <Summary event={data} />
          <Card>
            <Details items={listFacts(data)} />
          </Card>
          {data.changes !== null && data.changes.length > 0 && (
            <Card title={data.outcome === 'failed' ? 'Would have changed' : 'What it changed'}>
              <Changes changes={data.changes.map(inWords)} />
            </Card>
          )}
          <details class="card">
            <summary>Raw data</summary>
            <Details items={listCodes(data)} />
            <div class="actions">
              <Copy text={data.body} label="Copy payload" />
            </div>
            <Body name="Payload" text={data.body} />
          </details>
        </>
      )}
    </Loaded>
  )
}

/** The event's user and effect on access. */
function Summary({ event }: { event: BillingEvent }) {
  const { type, eventAt, error, access, user, price } = event
  const name = eventName(event)
  return (
    <div class="glance">
      <p
        class={`sentence ${error === null ? '' : 'bad'}`}
        role={error === null ? undefined : 'alert'}
      >
        {user && (
          <>
            <a href={linkTo(`people/${user.id}/subscription`)}>
              {user.name || user.email || unnamedUser(user.id)}
            </a>
            {': '}
          </>
        )}
        {user && name !== type ? name.charAt(0).toLowerCase() + name.slice(1) : name}
        {eventAt && (
          <>
            {' on '}
            <Day at={eventAt} />
          </>
        )}
        {price && `, ${money(price)}`}.
        {error !== null && ' Not applied, so access has not changed.'}
      </p>
      {error !== null && (
        <p>Reason: {failureReason(error)}. Homeport tries again every ten minutes.</p>
      )}
      {access && (
        <p class="soft">
          Now: <Sentence>{access}</Sentence>
        </p>
      )}
    </div>
  )
}

function listFacts(event: BillingEvent): Facts {
  const { outcome, environment, receivedAt, eventAt, duplicates, purchase } = event
  const lateMs = eventAt === null ? 0 : Date.parse(receivedAt) - Date.parse(eventAt)
  const tone = outcome === 'failed' ? 'bad' : outcome === 'applied' ? 'good' : 'plain'
  const payload = event.conflicting ? ', with a different payload' : ''
  return [
    event.price && ['Amount', money(event.price)],
    event.productId !== null && ['Product', event.productId],
    ['Outcome', <Badge key="outcome" tone={tone} children={outcome} />],
    ['Purchase', purchase === null ? 'None' : <PurchaseLink key="purchase" id={purchase} />],
    ['Environment', environment?.toLowerCase() ?? 'unknown'],
    ['Occurred', <Time key="at" at={eventAt} />],
    [
      'Received',
      <span key="received">
        <Time at={receivedAt} />
        {lateMs > HOUR_MS && `, ${durationName(lateMs)} late`}
      </span>,
    ],
    ['Duplicates', duplicates === 0 ? 'None' : `${duplicates}${payload}`],
    ['Timestamps', event.clockIsOff ? 'Implausible' : 'Plausible'],
  ]
}

/** The sender's identifiers for the event and its user. */
function listCodes({ type, eventId, appUserId }: BillingEvent): Fact[] {
  const user = appUserId && <a href={linkTo('people', { q: appUserId })}>{appUserId}</a>
  return [
    ['Type', <code key="type">{type}</code>],
    ['Event id', <code key="id">{eventId}</code>],
    ['App user id', user ?? 'None'],
  ]
}
