import { useState } from 'preact/hooks'
import type { Timeline as TimelineService } from '../../features/billing/access/timeline.ts'
import { encodeSegment } from '../../lib/path-segment.ts'
import { type ReplyOf, send } from '../api.ts'
import { words } from '../format.ts'
import { canEdit } from '../operator.ts'
import { linkTo, query } from '../router.ts'
import { Changes } from '../ui/changes.tsx'
import { showMessage } from '../ui/messages.tsx'
import { Action, Badge, Card, Empty, List, Time } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

type Timeline = ReplyOf<TimelineService['read']>
type Purchase = Timeline['lines'][number]

/** A user's purchases event by event, and why access is on or off. */
export function TimelineScreen({ id }: { id: string }) {
  const isSandbox = query.value.get('environment') === 'sandbox'
  const environment = isSandbox ? 'sandbox' : 'production'
  const path = `people/${encodeSegment(id)}`
  const timeline = useRemote<Timeline>(`${path}/timeline?environment=${environment}`)
  const reconcile = async () => {
    const { corrected } = await send<{ corrected: string[] }>(`${path}/reconcile`)
    await timeline.reload()
    showMessage(
      corrected.length === 0 ? 'The provider says the same.' : `Corrected: ${corrected.join(', ')}`,
    )
  }
  const other = linkTo(`${path}/subscription`, isSandbox ? {} : { environment: 'sandbox' })
  return (
    <Loaded from={timeline}>
      {(data) => (
        <>
          <p class={data.sentence.startsWith('Access is on') ? 'sentence good' : 'sentence bad'}>
            {data.sentence}
          </p>
          <div class="actions">
            <a class="button" href={other}>
              Show {isSandbox ? 'production' : 'the sandbox'}
            </a>
            {canEdit.value && <Action run={reconcile}>Ask the provider</Action>}
          </div>
          {data.heldBy && (
            <p>
              Held by{' '}
              <a href={linkTo(`people/${encodeSegment(data.heldBy)}/subscription`)}>
                {data.heldBy}
              </a>
            </p>
          )}
          {data.lines.length === 0 && <Empty>There are no purchases in {environment}.</Empty>}
          {data.lines.map((purchase) => (
            <PurchaseCard key={purchase.transactionId} purchase={purchase} />
          ))}
          {data.hiddenLines > 0 && <p class="soft">{data.hiddenLines} more are not shown.</p>}
          {data.transfers.length > 0 && (
            <Card title="Transfers">
              <List items={data.transfers}>
                {({ eventId, at, from, to }) => (
                  <li key={eventId}>
                    <a href={linkTo(`events/${encodeSegment(eventId)}`)}>
                      from {from.join(', ') || 'nobody'} to {to.join(', ') || 'nobody'}
                    </a>
                    <span class="soft">
                      <Time at={at} />
                    </span>
                  </li>
                )}
              </List>
            </Card>
          )}
          {data.ids.length > 1 && (
            <Card title="Ids of this customer">
              <List items={data.ids}>
                {(one) => (
                  <li key={one}>
                    <span class="mono">{one}</span>
                  </li>
                )}
              </List>
            </Card>
          )}
        </>
      )}
    </Loaded>
  )
}

function PurchaseCard({ purchase }: { purchase: Purchase }) {
  const [isExpanded, setExpanded] = useState(false)
  const { productId, store, transactionId, active, status, startedAt, endsAt, events } = purchase
  const shown = isExpanded ? events : events.slice(0, 10)
  return (
    <Card title={productId ?? 'Unknown product'}>
      <p>
        <Badge tone={active ? 'good' : 'bad'}>{status.replaceAll('_', ' ')}</Badge>{' '}
        <span class="soft">
          {store ?? 'unknown store'}, transaction {transactionId}, since <Time at={startedAt} />
          {endsAt && (
            <>
              , {active ? 'until' : 'ended'} <Time at={endsAt} />
            </>
          )}
          {purchase.replacedBy && <>, replaced by {purchase.replacedBy}</>}
        </span>
      </p>
      <List items={shown}>{(event) => <PurchaseEvent key={event.eventId} event={event} />}</List>
      {shown.length < events.length && (
        <button type="button" onClick={() => setExpanded(true)}>
          All {events.length} events
        </button>
      )}
      {purchase.isCut && <p class="soft">Earlier events are not shown.</p>}
    </Card>
  )
}

function PurchaseEvent({ event }: { event: Purchase['events'][number] }) {
  const { eventId, type, outcome, at, changes } = event
  const isFailed = outcome === 'failed'
  return (
    <li>
      <a href={linkTo(`events/${encodeSegment(eventId)}`)}>{type}</a>
      {isFailed && <Badge tone="bad">failed</Badge>}
      <span class="soft">
        <Time at={at} />
      </span>
      {changes.length > 0 ? (
        <details>
          <summary>
            {isFailed ? 'would change' : 'changed'}{' '}
            {changes.map((change) => words(change.path).toLowerCase()).join(', ')}
          </summary>
          <Changes changes={changes} />
        </details>
      ) : (
        <span class="soft">changed nothing</span>
      )}
    </li>
  )
}
