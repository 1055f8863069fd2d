import type { SupportDetails } from '../../../features/billing/console.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { unnamedUser } from '../../format.ts'
import { canEdit } from '../../operator.ts'
import { currentPath, linkTo } from '../../router.ts'
import { ActionButton } from '../../ui/declared.tsx'
import { Card, Copy, Details, Empty, type Facts, Time, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { History, type PurchaseHistory } from './history.tsx'
import { claimName, endName, productName, sourceName, storeName } from './labels.ts'
import { StatusBadge, useSupportDetails } from './parts.tsx'
import { type FoundPurchase, GooglePlayRecord, stateFacts } from './purchase-details.tsx'
import { TransferPurchase, UndoLink } from './purchase-links.tsx'

type CardProps = { purchase: FoundPurchase; reload: () => Promise<void> }

/** The purchase with the given transaction id, which can exist in both environments. */
export function PurchaseScreen({ id }: { id: string }) {
  const found = useRemote<{ purchases: FoundPurchase[] }>(`purchases?id=${encodeURIComponent(id)}`)
  return (
    <>
      <Title>{`Purchase ${id}`}</Title>
      <Loaded from={found}>
        {({ purchases }) =>
          purchases.length === 0 ? (
            <Empty>
              <NoPurchase id={id} onAsked={found.reload} />
            </Empty>
          ) : (
            purchases.map((purchase) => (
              <PurchaseCards
                key={`${purchase.environment} ${purchase.transactionId}`}
                purchase={purchase}
                reload={found.reload}
              />
            ))
          )
        }
      </Loaded>
    </>
  )
}

/** Shown if nothing was found. A notification may have been lost, so operators can query the store. */
export function NoPurchase({ id, onAsked }: { id: string; onAsked: () => Promise<void> }) {
  const facts = useSupportDetails()
  const store = /^gpa\./i.test(id) ? 'PLAY_STORE' : 'APP_STORE'
  return (
    <>
      <p>
        No purchase found. Enter a full transaction id, the order number on a receipt from the App
        Store or Google Play, an e-mail address or an app user id.
      </p>
      {canEdit.value && (
        <div class="actions">
          <ActionButton
            path="purchases/:id/ask"
            input={{ id }}
            label={`Refresh from ${storeName(store)}`}
            unavailable={facts && whyRefreshUnavailable(facts, store)}
            onDone={onAsked}
          />
          <a class="button" href={linkTo('people', { q: id })}>
            Search people
          </a>
        </div>
      )}
    </>
  )
}

/** The name of a purchase's owner; null if it belongs to no user. */
export function ownerName({ userId, owner }: FoundPurchase): string | null {
  return userId && (owner?.name || owner?.email || unnamedUser(userId))
}

/** A link to the user who has a purchase. */
function Owner({ purchase }: { purchase: FoundPurchase }) {
  const { userId, environment, isOwnerDeleted } = purchase
  if (userId === null) return <>{isOwnerDeleted ? 'deleted user' : 'no user'}</>
  const path = `people/${encodeSegment(userId)}/subscription`
  return (
    <a href={linkTo(path, environment === 'sandbox' ? { environment } : {})} title={userId}>
      {ownerName(purchase)}
    </a>
  )
}

function PurchaseCards({ purchase, reload }: CardProps) {
  const { transactionId, productId, store, state, atGoogle, source, userId, owner, link } = purchase
  const facts = useSupportDetails()
  const history = useRemote<PurchaseHistory>(
    `purchase-history?key=${encodeURIComponent(purchase.purchaseKey)}`,
  )
  const product = productName(purchase)
  const isKnownToGoogle = atGoogle !== null && atGoogle.goneAt === null
  const isAtStripe = store === 'STRIPE' && source === 'store'
  const canAsk = store === 'APP_STORE' || isAtStripe || (store === 'PLAY_STORE' && isKnownToGoogle)
  return (
    <>
      <Card title={product}>
        <Details items={listFacts(purchase)} />
        {purchase.access === 'unlocks_nothing' && (
          <p class="notice bad">
            <span>The product belongs to no plan and has no entitlement.</span>
            <a href={linkTo('plans', { from: currentPath() })}>Open the plans</a>
          </p>
        )}
        {canEdit.value && (
          <div class="actions">
            {canAsk && (
              <ActionButton
                path="purchases/:id/ask"
                input={{ id: transactionId }}
                label={`Refresh from ${storeName(store)}`}
                unavailable={facts && whyRefreshUnavailable(facts, store)}
                onDone={async (purchases) => {
                  await reload()
                  const after = purchases.find((one) => one.purchaseKey === purchase.purchaseKey)
                  return isSame(purchase, after) ? 'Already up to date.' : 'Updated.'
                }}
                // Google may have deleted the purchase, which the server records.
                onFailure={reload}
              />
            )}
            {isAtStripe && purchase.state.willRenew && (
              <ActionButton
                path="purchases/:id/cancel"
                input={{ id: transactionId }}
                asks={['reason']}
                onDone={reload}
              />
            )}
            {source !== 'granted' && (
              <TransferPurchase
                purchase={purchase}
                product={productId === null ? 'this purchase' : product}
                currentOwner={userId === null ? null : toCurrentOwner(owner?.email)}
                reload={reload}
              />
            )}
            {link !== null && (
              <UndoLink transactionId={transactionId} link={link} reload={reload} />
            )}
          </div>
        )}
      </Card>
      <Loaded from={history}>{(data) => <History purchases={[data]} />}</Loaded>
      {store === 'PLAY_STORE' && <GooglePlayRecord atGoogle={atGoogle} />}
      <details class="card">
        <summary>Raw data</summary>
        <Details items={stateFacts(state)} />
      </details>
    </>
  )
}

function listFacts(purchase: FoundPurchase): Facts {
  const { transactionId, productId, environment, store, startedAt, endsAt, userId } = purchase
  const { link } = purchase
  const claim = userId === null ? null : claimName(purchase)
  return [
    ['Status', <StatusBadge key="status" purchase={purchase} />],
    productId !== null && ['Product', productId],
    ['Environment', environment],
    ['Store', storeName(store)],
    ['Source', sourceName(purchase)],
    [
      'Owner',
      <>
        <Owner purchase={purchase} />
        {claim && <>, {claim}</>}
      </>,
    ],
    link && ['Linked', <Linked key="link" {...link} />],
    ['Started', <Time key="started" at={startedAt} />],
    [endName(purchase), endsAt === null ? 'Never' : <Time key="ends" at={endsAt} />],
    [
      'Transaction id',
      <>
        <span class="mono">{transactionId}</span> <Copy text={transactionId} />
      </>,
    ],
  ]
}

function Linked({ by, reason, at }: NonNullable<FoundPurchase['link']>) {
  return (
    <>
      by {by} on <Time at={at} />: {reason}
    </>
  )
}

function whyRefreshUnavailable(details: SupportDetails, store: string | null) {
  if (store === 'STRIPE') return null
  return store === 'PLAY_STORE' ? details.refreshFromGooglePlay : details.refreshFromAppStore
}

type Stored = Pick<FoundPurchase, 'state' | 'atGoogle'>

/** Whether a store's response left everything on this page unchanged. */
function isSame(before: Stored, after: Stored | undefined): boolean {
  const isAcknowledged = (one?: Stored) => (one?.atGoogle?.unacknowledgedSince ?? null) === null
  return (
    JSON.stringify(after?.state) === JSON.stringify(before.state) &&
    isAcknowledged(after) === isAcknowledged(before)
  )
}

function toCurrentOwner(email: string | null | undefined) {
  return { name: email || 'The guest who has it now', isNotified: Boolean(email) }
}
