import type { ComponentType } from 'preact'
import type { Timeline as TimelineService } from '../../../features/billing/access/timeline.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import type { ReplyOf } from '../../api.ts'
import { plural } from '../../format.ts'
import { canEdit, me } from '../../operator.ts'
import { linkTo, query } from '../../router.ts'
import { ActionButton } from '../../ui/declared.tsx'
import { Card, Empty, List, Sentence, Time } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { GrantAccess, RevokeOrRestore } from './granted-access.tsx'
import { History, supportText, totalPaid } from './history.tsx'
import { claimName, endName, productName, sourceName, storeName } from './labels.ts'
import { PurchaseLink, type Reload, StatusBadge, useSupportDetails } from './parts.tsx'

type Timeline = ReplyOf<TimelineService['read']>
type Purchase = Timeline['lines'][number]

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
          <Subscriptions {...{ data, isSandbox, id, reload, UndoLink }} />
          <History purchases={data.lines.map((line) => ({ ...line, name: productName(line) }))} />
          <OneTimePurchases purchases={data.lines.filter(({ isOneTime }) => isOneTime)} />
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

type SubscriptionsProps = {
  data: Timeline
  isSandbox: boolean
  id: string
  reload: Reload
  UndoLink: UndoLink | undefined
}

function Subscriptions({ data, isSandbox, id, reload, UndoLink }: SubscriptionsProps) {
  const purchases = data.lines.filter(({ isOneTime }) => !isOneTime)
  if (purchases.length === 0)
    return <Empty>No {isSandbox ? 'test' : 'production'} subscription.</Empty>
  return (
    <Card title={purchases.length === 1 ? 'Subscription' : 'Subscriptions'}>
      <List items={purchases}>
        {(purchase) => (
          <PurchaseItem
            key={purchase.transactionId}
            purchase={purchase}
            isGivenAgain={purchases.some((other) => givesSameAccess(other, purchase))}
            userId={id}
            reload={reload}
            UndoLink={UndoLink}
          />
        )}
      </List>
    </Card>
  )
}

const ONE_TIME_COLUMNS: Column<Purchase>[] = [
  { name: 'Product', cell: productName },
  { name: 'Bought', cell: ({ startedAt }) => <Time at={startedAt} /> },
  { name: 'Store', cell: ({ store }) => storeName(store) },
  { name: 'Transaction', cell: ({ transactionId }) => <PurchaseLink id={transactionId} /> },
  { name: 'Amount', kind: 'number', cell: (purchase) => totalPaid([purchase]) },
]

/** Purchases that give no access, such as coins. */
function OneTimePurchases({ purchases }: { purchases: Purchase[] }) {
  if (purchases.length === 0) return null
  return (
    <Card title="One-time purchases">
      <Table
        caption="One-time purchases"
        columns={ONE_TIME_COLUMNS}
        rows={purchases}
        keyOf={({ transactionId }) => transactionId}
      />
    </Card>
  )
}

type ItemProps = {
  purchase: Purchase
  /** Whether another grant currently gives the same access. */
  isGivenAgain: boolean
  userId: string
  reload: Reload
  UndoLink: UndoLink | undefined
}

function givesSameAccess(grant: Purchase, other: Purchase): boolean {
  const isOther = grant !== other && grant.grant !== null && grant.active
  const isSame = `${grant.entitlementIds}` === `${other.entitlementIds}`
  return isOther && isSame && grant.expiresAt === other.expiresAt
}

function PurchaseItem({ purchase, isGivenAgain, userId, reload, UndoLink }: ItemProps) {
  const { store, transactionId, active, startedAt, endsAt } = purchase
  const { grant, link, entitlementIds, replacedBy } = purchase
  const isRevocable = grant !== null && (active || grant.revokedBy !== undefined)
  return (
    <li>
      <strong>{grant === null ? productName(purchase) : `Granted: ${entitlementIds}`}</strong>
      <StatusBadge purchase={purchase} />
      <span class="soft">
        {storeName(store)}, transaction <PurchaseLink id={transactionId} />, started{' '}
        <Time at={startedAt} />
        {endsAt && (
          <>
            , {endName(purchase).toLowerCase()} <Time at={endsAt} />
          </>
        )}
        {replacedBy && <>, replaced by {replacedBy}</>}. Source:{' '}
        {[sourceName(purchase), claimName(purchase)].filter(Boolean).join('; ')}
      </span>
      {grant !== null && <span>{supportText(grant)}</span>}
      {link !== null && (
        <span>
          Linked on <Time at={link.at} /> {supportText(link)}
        </span>
      )}
      {canEdit.value && (isRevocable || (link !== null && UndoLink)) && (
        <div class="actions">
          {isRevocable && (
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
          )}
          {link !== null && UndoLink && (
            <UndoLink transactionId={transactionId} link={link} reload={reload} />
          )}
        </div>
      )}
    </li>
  )
}
