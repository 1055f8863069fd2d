import { useEffect, useState } from 'preact/hooks'
import { read } from '../../api.ts'
import { ActionButton } from '../../ui/declared.tsx'
import { TextField, VERBATIM } from '../../ui/fields.tsx'
import { describeError } from '../../ui/problems.tsx'
import { useRemote } from '../../ui/remote.tsx'
import { productName } from './labels.ts'
import type { Reload } from './parts.tsx'

const TYPING_PAUSE_MS = 250

type OwnedPurchase = {
  plan: string | null
  productId: string | null
  userId: string | null
  owner: { email: string | null } | null
}

/** Links a purchase to this user, after showing its current owner. */
export function LinkPurchase({ userId, reload }: { userId: string; reload: Reload }) {
  const [id, setId] = useState('')
  const wanted = id.trim()
  const found = usePurchasesById(wanted)
  const purchases = found?.data?.purchases ?? []
  const owners = purchases.filter((one) => one.userId !== null && one.userId !== userId)
  return (
    <ActionButton
      path="purchases/:id/give"
      input={{ id: wanted, user: userId }}
      asks={['reason']}
      label="Link a purchase"
      verb={
        owners.length === 0 ? 'Link purchase' : `Transfer from ${owners.map(ownerName).join(', ')}`
      }
      done="Purchase linked."
      isDisabled={purchases.length === 0}
      isReversible={owners.length === 0}
      isSecondary
      onOpen={() => setId('')}
      onDone={reload}
    >
      <p>
        The user gets the purchase immediately. If another user has it, they lose it and are
        notified by e-mail.
      </p>
      <TextField
        label="Transaction or order"
        hint="As shown on the receipt"
        value={id}
        {...VERBATIM}
        maxLength={300}
        onChange={setId}
      />
      {/* Reserves its height, so that the button does not move under a finger. */}
      <p role="status" class="holder">
        {wanted !== '' && found === null && 'Looking it up…'}
        {found?.error ? describeError(found.error) : null}
        {wanted !== '' &&
          found?.data &&
          purchases.length === 0 &&
          `There is no purchase ${wanted}.`}
        {purchases.map((one) =>
          one.owner === null
            ? `${productName(one)} currently has no owner. `
            : `${productName(one)} currently belongs to ${ownerName(one)}. `,
        )}
      </p>
    </ActionButton>
  )
}

/** The purchases with an id, looked up after a pause in typing; null until they are known. */
function usePurchasesById(id: string) {
  const [asked, setAsked] = useState(id)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(id), TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [id])
  const path = `purchases?id=${encodeURIComponent(asked)}`
  const found = useRemote<{ purchases: OwnedPurchase[] }>(path, async () =>
    asked === '' ? { purchases: [] } : read(path),
  )
  const isKnown = found.path === path && (found.data !== null || found.error !== null)
  return isKnown && asked === id ? found : null
}

function ownerName({ owner }: OwnedPurchase): string {
  return owner === null ? 'no user' : (owner.email ?? 'a guest')
}

type TransferProps = {
  purchase: { transactionId: string; environment: 'production' | 'sandbox' }
  product: string
  /** `isNotified`: by e-mail. */
  currentOwner: { name: string; isNotified: boolean } | null
  reload: Reload
}

/** Links the purchase of the page to a user, or moves it. `currentOwner`: null if it has none. */
export function TransferPurchase({ purchase, product, currentOwner, reload }: TransferProps) {
  const { transactionId: id, environment } = purchase
  return (
    <ActionButton
      path="purchases/:id/give"
      input={{ id, environment }}
      asks={['user', 'reason']}
      isReversible={currentOwner === null}
      {...(currentOwner && { label: 'Transfer to another user', verb: 'Transfer purchase' })}
      onDone={reload}
    >
      <p>
        The user gets {product} immediately.{' '}
        {currentOwner === null
          ? 'It currently has no owner.'
          : `${currentOwner.name} loses it${currentOwner.isNotified ? ' and is notified by e-mail' : ''}.`}
      </p>
    </ActionButton>
  )
}

type UndoLinkProps = { transactionId: string; link: { id: string }; reload: Reload }

/** Undoes a link without asking for a reason. The audit log records both the link and its undo. */
export function UndoLink({ transactionId: id, link, reload }: UndoLinkProps) {
  const input = { id, link: link.id, reason: 'Link undone' }
  return <ActionButton path="purchases/:id/take-back" input={input} onDone={reload} />
}
