import { useState } from 'preact/hooks'
import { encodeSegment } from '../../lib/path-segment.ts'
import { send } from '../api.ts'
import { canEdit } from '../operator.ts'
import {
  claimName,
  nameToAsk,
  sourceName,
  statusName,
  storeName,
  toneOf,
} from '../purchase-words.ts'
import { linkTo } from '../router.ts'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { showMessage } from '../ui/messages.tsx'
import {
  Action,
  Badge,
  Card,
  Copy,
  describeError,
  Empty,
  type Fact,
  Facts,
  Time,
  Title,
} from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'
import { AtGoogle, type FoundPurchase, stateFacts } from './purchase-facts.tsx'

type CardProps = { purchase: FoundPurchase; reload: () => Promise<void> }

/** The purchase with the given transaction id, which can exist in both environments. */
export function PurchaseScreen({ id }: { id: string }) {
  const found = useRemote<FoundPurchase[]>(`purchases?id=${encodeURIComponent(id)}`)
  return (
    <>
      <Title>{`Purchase ${id}`}</Title>
      <Loaded from={found}>
        {(purchases) =>
          purchases.length === 0 ? (
            <NoPurchase id={id} onAsked={found.reload} />
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

/** Says that nothing was found. A lost notification can be the reason, so operators can ask the store. */
export function NoPurchase({ id, onAsked }: { id: string; onAsked: () => Promise<void> }) {
  const store = id.startsWith('GPA.') ? 'PLAY_STORE' : 'APP_STORE'
  const ask = async () => {
    await askStore(id)
    await onAsked()
  }
  return (
    <>
      <Empty>
        No purchase has this number. Enter a full transaction id, or the order number on a receipt
        from the App Store or Google Play.
      </Empty>
      {canEdit.value && (
        <div class="actions">
          <Action run={ask}>Ask {nameToAsk(store)}</Action>
        </div>
      )}
    </>
  )
}

/** A link to the user who has a purchase. */
export function Owner({ purchase: { userId, owner, environment } }: { purchase: FoundPurchase }) {
  if (userId === null) return <>no user</>
  const path = `people/${encodeSegment(userId)}/subscription`
  return (
    <a href={linkTo(path, environment === 'sandbox' ? { environment } : {})}>
      {owner?.email || `Guest ${userId}`}
    </a>
  )
}

function PurchaseCards({ purchase, reload }: CardProps) {
  const { transactionId, productId, store, state, atGoogle } = purchase
  const isKnownToGoogle = atGoogle !== null && atGoogle.goneAt === null
  const canAsk = store === 'APP_STORE' || (store === 'PLAY_STORE' && isKnownToGoogle)
  const ask = async () => {
    try {
      const purchases = await askStore(transactionId)
      const after = purchases.find((one) => one.purchaseKey === purchase.purchaseKey)
      showMessage(isSame(purchase, after) ? 'Already up to date.' : 'Updated.')
    } finally {
      // Google may have forgotten the purchase, which is stored too.
      await reload()
    }
  }
  return (
    <>
      <Card title={productId ?? 'Unknown product'}>
        <Facts items={factsOf(purchase)} />
        {canEdit.value && (
          <div class="actions">
            {canAsk && <Action run={ask}>Ask {nameToAsk(store)}</Action>}
            <Give purchase={purchase} reload={reload} />
          </div>
        )}
      </Card>
      {store === 'PLAY_STORE' && <AtGoogle atGoogle={atGoogle} />}
      <Card title="Stored state">
        <Facts items={stateFacts(state)} />
      </Card>
    </>
  )
}

/** Moves the purchase to another user, after showing the consequences. */
function Give({ purchase, reload }: CardProps) {
  const { transactionId, productId, userId, owner } = purchase
  const [isOpen, setOpen] = useState(false)
  const [user, setUser] = useState('')
  const [error, setError] = useState('')
  const open = () => {
    setUser('')
    setError('')
    setOpen(true)
  }
  const give = async () => {
    try {
      await send(`purchases/${encodeSegment(transactionId)}/give`, { user: user.trim() })
    } catch (failure) {
      setError(describeError(failure))
      return false
    }
    setOpen(false)
    await reload()
    return true
  }
  return (
    <>
      <button type="button" class="danger" onClick={open}>
        Transfer to another user
      </button>
      {isOpen && (
        <Dialog title="Transfer to another user" onClose={() => setOpen(false)}>
          <p>
            The other user gets {productId ?? 'this purchase'} at once, whatever{' '}
            <code>PURCHASE_TRANSFER</code> says.{' '}
            {userId === null
              ? 'No user has it now.'
              : `${owner?.email || 'The guest who has it now'} loses it${owner?.email ? ' and is told by e-mail' : ''}.`}
          </p>
          <form class="stack" onSubmit={(event) => event.preventDefault()}>
            <TextField
              label="User id or e-mail"
              value={user}
              autocomplete="off"
              spellcheck={false}
              maxLength={320}
              onChange={setUser}
            />
            {error && (
              <p class="bad" role="alert">
                {error}
              </p>
            )}
            <div class="actions end">
              <button type="button" onClick={() => setOpen(false)}>
                Cancel
              </button>
              <Action
                kind="danger"
                disabled={user.trim() === ''}
                done="The purchase has a new owner."
                run={give}
                isSubmit
              >
                Transfer purchase
              </Action>
            </div>
          </form>
        </Dialog>
      )}
    </>
  )
}

function factsOf(purchase: FoundPurchase): Fact[] {
  const { transactionId, environment, store, status, startedAt, endsAt, willRenew } = purchase
  const { active, userId } = purchase
  return [
    ['Status', <Badge key="status" tone={toneOf(purchase)} children={statusName(status)} />],
    ['Environment', environment],
    ['Store', storeName(store)],
    ['Source', sourceName(purchase)],
    [
      'Owner',
      <>
        <Owner purchase={purchase} />
        {userId !== null && <>, {claimName(purchase)}</>}
      </>,
    ],
    ['Started', <Time key="started" at={startedAt} />],
    [active ? 'Ends' : 'Ended', endsAt === null ? 'Never' : <Time key="ends" at={endsAt} />],
    ['Renews', willRenew ? 'yes' : 'no'],
    [
      'Transaction id',
      <>
        <span class="mono">{transactionId}</span> <Copy text={transactionId} />
      </>,
    ],
  ]
}

function askStore(transactionId: string): Promise<FoundPurchase[]> {
  return send<FoundPurchase[]>(`purchases/${encodeSegment(transactionId)}/ask`)
}

/** Whether a store's reply has changed nothing that this page shows. */
function isSame(before: FoundPurchase, after: FoundPurchase | undefined): boolean {
  const isAcknowledged = (one?: FoundPurchase) =>
    (one?.atGoogle?.unacknowledgedSince ?? null) === null
  return (
    JSON.stringify(after?.state) === JSON.stringify(before.state) &&
    isAcknowledged(after) === isAcknowledged(before)
  )
}
