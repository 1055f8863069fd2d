import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import type { Timeline as TimelineService } from '../../../features/billing/access/timeline.ts'
import type { Difference } from '../../../lib/text/differences.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { HOUR_MS } from '../../../lib/time/durations.ts'
import type { ReplyOf } from '../../api.ts'
import { durationName, plural, words } from '../../format.ts'
import { canEdit, me } from '../../operator.ts'
import { linkTo, query } from '../../router.ts'
import { Changes } from '../../ui/changes.tsx'
import { ActionButton } from '../../ui/declared.tsx'
import { Badge, Card, Empty, List, Sentence, Time } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { GrantAccess, RevokeOrRestore } from './granted-access.tsx'
import {
  claimName,
  endName,
  eventName,
  fieldWords,
  productName,
  sourceName,
  storeName,
} from './labels.ts'
import { PurchaseLink, type Reload, StatusBadge, useSupportDetails } from './parts.tsx'

type Timeline = ReplyOf<TimelineService['read']>
type Purchase = Timeline['lines'][number]

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

type UndoLink = ComponentType<{ transactionId: string; link: { id: string }; reload: Reload }>
type TimelineProps = {
  id: string
  /** Refreshes the access in the header. */
  reloadUser: Reload
  /** Buttons of the stores, which a fork may leave out. */
  LinkPurchase?: ComponentType<{ userId: string; reload: Reload }>
  UndoLink?: UndoLink
}

/** A user's purchases with their events. For test purchases, also the access that they give. */
export function TimelineScreen({ id, reloadUser, LinkPurchase, UndoLink }: TimelineProps) {
  const isSandbox = query.value.get('environment') === 'sandbox'
  const environment = isSandbox ? 'sandbox' : 'production'
  const path = `people/${encodeSegment(id)}`
  const facts = useSupportDetails()
  const timeline = useRemote<Timeline>(`${path}/timeline?environment=${environment}`)
  const reload = async () => {
    await Promise.all([timeline.reload(), reloadUser()])
  }
  const other = linkTo(`${path}/subscription`, isSandbox ? {} : { environment: 'sandbox' })
  return (
    <Loaded from={timeline}>
      {(data) => (
        <>
          {isSandbox && (
            <p class="sentence">
              Test purchases: <Sentence>{data.sentence}</Sentence>
            </p>
          )}
          {data.heldBy && (
            <p>
              The purchases belong to{' '}
              <a href={linkTo(`people/${encodeSegment(data.heldBy)}/subscription`)}>
                {data.heldBy}
              </a>
            </p>
          )}
          {data.lines.length === 0 && (
            <Empty>No {isSandbox ? 'test' : 'production'} purchases.</Empty>
          )}
          {data.lines.map((purchase) => (
            <PurchaseCard
              key={purchase.transactionId}
              purchase={purchase}
              isGivenAgain={data.lines.some((other) => givesTheSame(other, purchase))}
              userId={id}
              reload={reload}
              UndoLink={UndoLink}
            />
          ))}
          {data.hiddenLines > 0 && (
            <p class="soft">{plural(data.hiddenLines, 'more purchase')} not shown.</p>
          )}
          <p class="list-bar">
            <a href={other}>Show {isSandbox ? 'production' : 'test'} purchases</a>
          </p>
          <div class="actions">
            <GrantAccess userId={id} reload={reload} />
            {LinkPurchase && <LinkPurchase userId={id} reload={reload} />}
            {(me.value?.role === 'owner' || facts?.refresh === null) && (
              <ActionButton
                path="people/:id/reconcile"
                input={{ id }}
                unavailable={facts?.refresh}
                onDone={async ({ corrected: { length } }) => {
                  await reload()
                  return length === 0
                    ? 'Already up to date.'
                    : `Updated ${plural(length, 'purchase')}.`
                }}
              />
            )}
          </div>
          {data.transfers.length > 0 && (
            <Card title="Transfers">
              <List items={data.transfers}>
                {({ eventId, at, from, to }) => (
                  <li key={eventId}>
                    <a href={linkTo(`events/${encodeSegment(eventId)}`)}>
                      From {from.join(', ') || 'unknown'} to {to.join(', ') || 'unknown'}
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
            <Card title="App user ids">
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

type CardProps = {
  purchase: Purchase
  /** Whether another grant gives the same now. */
  isGivenAgain: boolean
  userId: string
  reload: Reload
  UndoLink: UndoLink | undefined
}

function givesTheSame(grant: Purchase, other: Purchase): boolean {
  const isOther = grant !== other && grant.grant !== null && grant.active
  const isSame = `${grant.entitlementIds}` === `${other.entitlementIds}`
  return isOther && isSame && grant.expiresAt === other.expiresAt
}

function PurchaseCard({ purchase, isGivenAgain, userId, reload, UndoLink }: CardProps) {
  const [isExpanded, setExpanded] = useState(false)
  const { store, transactionId, active, startedAt, endsAt, events } = purchase
  const { grant, link, entitlementIds, replacedBy } = purchase
  const shown = isExpanded ? events : events.slice(0, 10)
  return (
    <Card title={grant === null ? productName(purchase) : `Granted: ${entitlementIds}`}>
      <p>
        <StatusBadge purchase={purchase} />{' '}
        <span class="soft">
          {storeName(store)}, transaction <PurchaseLink id={transactionId} />, started{' '}
          <Time at={startedAt} />
          {endsAt && (
            <>
              , {endName(purchase).toLowerCase()} <Time at={endsAt} />
            </>
          )}
          {replacedBy && <>, replaced by {replacedBy}</>}
        </span>
      </p>
      <p class="soft">
        Source: {[sourceName(purchase), claimName(purchase)].filter(Boolean).join('; ')}
      </p>
      {grant !== null && <p>{supportText(grant)}</p>}
      {link !== null && (
        <p>
          Linked on <Time at={link.at} /> {supportText(link)}
        </p>
      )}
      {canEdit.value && grant !== null && (active || grant.revokedBy !== undefined) && (
        <div class="actions">
          <RevokeOrRestore
            userId={userId}
            grantId={transactionId.replace(/^grant:/, '')}
            entitlementId={entitlementIds.join()}
            until={purchase.expiresAt}
            active={active}
            isGivenAgain={isGivenAgain}
            reason={grant.reason}
            reload={reload}
          />
        </div>
      )}
      {canEdit.value && link !== null && UndoLink && (
        <div class="actions">
          <UndoLink transactionId={transactionId} link={link} reload={reload} />
        </div>
      )}
      <List items={shown}>
        {(event) => (
          <PurchaseEvent
            key={event.eventId}
            event={event}
            isFirst={!purchase.isCut && event === events.at(-1)}
          />
        )}
      </List>
      {shown.length < events.length && (
        <button type="button" onClick={() => setExpanded(true)}>
          Show all {events.length} events
        </button>
      )}
      {purchase.isCut && <p class="soft">Earlier events are not shown.</p>}
    </Card>
  )
}

type EventProps = { event: Purchase['events'][number]; isFirst: boolean }

function PurchaseEvent({ event, isFirst }: EventProps) {
  const { eventId, outcome, at, receivedAt, changes, linkedTo, support } = event
  const lateMs = Date.parse(receivedAt) - Date.parse(at)
  const isFailed = outcome === 'failed'
  return (
    <li>
      <a href={linkTo(`events/${encodeSegment(eventId)}`)}>{eventName(event)}</a>
      {isFailed && <Badge tone="bad">failed</Badge>}
      <span class="soft">
        <Time at={at} />
        {lateMs > HOUR_MS && `, received ${durationName(lateMs)} late`}
        {lateMs > HOUR_MS &&
          !isFirst &&
          (isFailed
            ? '; access is still based on the earlier events'
            : '; until then, access was based on the earlier events')}
      </span>
      {linkedTo !== null && (
        <span>
          Linked to{' '}
          <a class="mono" href={linkTo(`people/${encodeSegment(linkedTo)}/subscription`)}>
            {linkedTo}
          </a>
        </span>
      )}
      {support !== null && <span>{supportText(support)}</span>}
      {changes.length > 0 ? (
        <details>
          <summary>
            {isFailed && 'Not applied: '}
            {summarize(changes, event.type)}
          </summary>
          <Changes changes={changes.map(inWords)} />
        </details>
      ) : (
        <span class="soft">No changes</span>
      )}
    </li>
  )
}

/** A change with the names and values of its field in words. */
function inWords({ path, before, after }: Difference): Difference {
  return { path: words(path), before: fieldWords(path, before), after: fieldWords(path, after) }
}

/** `by ann: beta tester`. */
function supportText({ by, reason }: { by: string; reason: string }): string {
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
  const others = changes.length - statements.length
  const noun = statements.length > 0 ? 'other change' : 'change'
  return [...statements, ...(others > 0 ? [plural(others, noun)] : [])].join('; ')
}
