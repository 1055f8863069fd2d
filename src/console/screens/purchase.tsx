import { useState } from 'preact/hooks'
import type { Stores } from '../../features/billing/stores/stores.ts'
import type { AccountSummary } from '../../features/users/accounts/directory.ts'
import { encodeSegment } from '../../lib/path-segment.ts'
import { type Json, type ReplyOf, send } from '../api.ts'
import { value, words } from '../format.ts'
import { canEdit } from '../operator.ts'
import { claimName, sourceName, statusName, storeName, toneOf } from '../purchase-words.ts'
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

export type FoundPurchase = ReplyOf<Stores['purchaseSearch']['find']>[number] & {
  owner: Json<AccountSummary> | null
}
type CardProps = { purchase: FoundPurchase; reload: () => Promise<void> }

/** Labels of fields whose names do not explain them. */
const LABELS: Record<string, string> = {
  price: 'Price in US dollars',
  stated: 'Reported by the store',
  isTemporary: 'Temporary',
}
/** A time later than this is never reached. */
const FOREVER_MS = Date.UTC(10_000, 0)

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

/** Says that nothing was found. A lost notification can be the reason, so operators can ask the App Store. */
export function NoPurchase({ id, onAsked }: { id: string; onAsked: () => Promise<void> }) {
  const ask = async () => {
    const purchases = await askAppStore(id)
    if (purchases.length === 0) showMessage('The App Store does not know this purchase.', 'bad')
    await onAsked()
  }
  return (
    <>
      <Empty>
        No purchase has this number. Enter a full transaction id, or the order number on a receipt
        from the App Store.
      </Empty>
      {canEdit.value && (
        <div class="actions">
          <Action run={ask}>Ask the App Store</Action>
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
  const { transactionId, productId, store, state } = purchase
  const ask = async () => {
    const before = JSON.stringify(state)
    const purchases = await askAppStore(transactionId)
    await reload()
    const after = purchases.find(({ environment }) => environment === purchase.environment)
    showMessage(JSON.stringify(after?.state) === before ? 'Already up to date.' : 'Updated.')
  }
  return (
    <>
      <Card title={productId ?? 'Unknown product'}>
        <Facts items={factsOf(purchase)} />
        {canEdit.value && (
          <div class="actions">
            {store === 'APP_STORE' && <Action run={ask}>Ask the App Store</Action>}
            <Give purchase={purchase} reload={reload} />
          </div>
        )}
      </Card>
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

/** The fields of the stored state that have a value. */
function stateFacts(state: FoundPurchase['state']): Fact[] {
  return Object.entries(state)
    .filter(([, field]) => field !== null && !(Array.isArray(field) && field.length === 0))
    .map(([name, field]) => [LABELS[name] ?? words(name), fieldText(name, field)])
}

function fieldText(name: string, field: unknown) {
  if (/At$/.test(name) && typeof field === 'number') {
    return field >= FOREVER_MS ? 'never' : <Time at={new Date(field).toISOString()} />
  }
  if (name === 'stated') {
    const { transactionId } = field as { transactionId: string | null }
    return transactionId === null ? 'yes' : `transaction ${transactionId}`
  }
  return Array.isArray(field) ? field.join(', ') : value(field)
}

function askAppStore(transactionId: string): Promise<FoundPurchase[]> {
  return send<FoundPurchase[]>(`purchases/${encodeSegment(transactionId)}/ask`)
}
