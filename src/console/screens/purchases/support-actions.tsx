import type { ComponentChildren } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import type { SupportDetails } from '../../../features/billing/admin.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { read, send } from '../../api.ts'
import { me } from '../../operator.ts'
import { Confirm, Dialog, useBusy } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Action } from '../../ui/parts.tsx'
import { describeError } from '../../ui/problems.tsx'
import { useRemote } from '../../ui/remote.tsx'
import { productName } from './labels.ts'

export type Reload = () => Promise<void>

const MAX_REASON_LENGTH = 500
const TYPING_PAUSE_MS = 250

/** Why support actions cannot be used here, and what the plans give; null until loaded. */
export function useSupportDetails(): SupportDetails | null {
  return useRemote<SupportDetails>('billing/support').data
}

type AvailableProps = {
  /** Why the action cannot be used; null if it can, undefined until that is known. */
  unavailable: string | null | undefined
  label: string
  run: () => Promise<unknown>
}

/** A button that is disabled while a setting is missing. Owners see which; others cannot set it. */
export function AvailableAction({ unavailable, label, run }: AvailableProps) {
  const id = useId()
  const isOwner = me.value?.role === 'owner'
  if (unavailable === null || unavailable === undefined) return <Action run={run}>{label}</Action>
  return (
    <span class="unavailable">
      <button type="button" disabled aria-describedby={id}>
        {label}
      </button>{' '}
      <small class="soft" id={id}>
        {isOwner ? unavailable : 'Not set up. Ask an owner.'}
      </small>
    </span>
  )
}

type ActProps = {
  /** The text of the button that opens the dialog, and its title. */
  label: string
  /** The text of the button that acts. */
  confirm: string
  done: string
  /** The consequences, and further fields. */
  children?: ComponentChildren
  isReady?: boolean
  isDanger?: boolean
  onOpen?: () => void
  run: (reason: string) => Promise<unknown>
}

/** A button that asks for a reason before it acts. */
export function ReasonDialog(props: ActProps) {
  const { label, confirm, done, children, isReady = true, isDanger = false, onOpen, run } = props
  const [isOpen, setOpen] = useState(false)
  const [reason, setReason] = useState('')
  const { isBusy, runBusy } = useBusy(run)
  const open = () => {
    setReason('')
    onOpen?.()
    setOpen(true)
  }
  const act = async () => {
    await runBusy(reason.trim())
    setOpen(false)
  }
  return (
    <>
      <button type="button" class={isDanger ? 'danger' : ''} onClick={open}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={label} onClose={() => setOpen(false)} isBusy={isBusy}>
          <form class="stack" onSubmit={(event) => event.preventDefault()}>
            {children}
            <TextField
              label="Reason"
              hint="Shown in the user’s history and export"
              value={reason}
              autocomplete="off"
              maxLength={MAX_REASON_LENGTH}
              onChange={setReason}
            />
            <div class="actions end">
              <button type="button" disabled={isBusy} onClick={() => setOpen(false)}>
                Cancel
              </button>
              <Action
                kind={isDanger ? 'danger' : 'primary'}
                disabled={!isReady || reason.trim() === ''}
                done={done}
                run={act}
                isSubmit
              >
                {confirm}
              </Action>
            </div>
          </form>
        </Dialog>
      )}
    </>
  )
}

type HeldPurchase = {
  plan: string | null
  productId: string | null
  userId: string | null
  owner: { email: string | null } | null
}

/** Links a purchase to this user, after showing its current owner. */
export function LinkPurchase({ userId, reload }: { userId: string; reload: Reload }) {
  const [id, setId] = useState('')
  const found = useHeldPurchases(id.trim())
  const purchases = found?.data?.purchases ?? []
  const losers = purchases.filter((one) => one.userId !== null && one.userId !== userId)
  const link = async (reason: string) => {
    await give(id.trim(), userId, reason)
    await reload()
  }
  return (
    <ReasonDialog
      label="Link a purchase"
      confirm={
        losers.length === 0 ? 'Link purchase' : `Remove from ${losers.map(ownerName).join(', ')}`
      }
      done="Purchase linked."
      isReady={purchases.length > 0}
      isDanger={losers.length > 0}
      onOpen={() => setId('')}
      run={link}
    >
      <p>
        The user gets the purchase immediately. If another user has it, they lose it and are
        notified by e-mail.
      </p>
      <TextField
        label="Transaction or order"
        hint="As shown on the receipt"
        value={id}
        autocomplete="off"
        spellcheck={false}
        autocapitalize="none"
        maxLength={300}
        onChange={setId}
      />
      {/* Its height is reserved: the button must not move away under a finger. */}
      <p role="status" class="holder">
        {id.trim() !== '' && found === null && 'Looking it up…'}
        {found?.error ? describeError(found.error) : null}
        {id.trim() !== '' &&
          found?.data &&
          purchases.length === 0 &&
          `There is no purchase ${id.trim()}.`}
        {purchases.map((one) => `${productName(one)} belongs to ${ownerName(one)} now. `)}
      </p>
    </ReasonDialog>
  )
}

/** The purchases with an id, once nothing was typed for a moment; null until they are known. */
function useHeldPurchases(id: string) {
  const [asked, setAsked] = useState(id)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(id), TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [id])
  const path = `purchases?id=${encodeURIComponent(asked)}`
  const found = useRemote<{ purchases: HeldPurchase[] }>(path, async () =>
    asked === '' ? { purchases: [] } : read(path),
  )
  const isKnown = found.path === path && (found.data !== null || found.error !== null)
  return isKnown && asked === id ? found : null
}

function ownerName({ owner }: HeldPurchase): string {
  return owner === null ? 'no user' : (owner.email ?? 'a guest')
}

/** Links the purchase of the page to a user, or moves it. `loser` is the current owner; null if there is none. */
export function GivePurchase(props: {
  purchase: { transactionId: string; environment: string }
  product: string
  /** `isNotified`: by e-mail. */
  loser: { name: string; isNotified: boolean } | null
  reload: Reload
}) {
  const { purchase, product, loser, reload } = props
  const [user, setUser] = useState('')
  return (
    <ReasonDialog
      label={loser === null ? 'Link to a user' : 'Transfer to another user'}
      confirm={loser === null ? 'Link purchase' : 'Transfer purchase'}
      done="The purchase belongs to the user that you entered."
      isReady={user.trim() !== ''}
      isDanger={loser !== null}
      run={async (reason) => {
        await give(purchase.transactionId, user.trim(), reason, purchase.environment)
        await reload()
      }}
    >
      <p>
        The user gets {product} immediately.{' '}
        {loser === null
          ? 'No user has it now.'
          : `${loser.name} loses it${loser.isNotified ? ' and is notified by e-mail' : ''}.`}
      </p>
      <TextField
        label="User id or e-mail"
        value={user}
        autocomplete="off"
        spellcheck={false}
        maxLength={320}
        onChange={setUser}
      />
    </ReasonDialog>
  )
}

type UndoLinkProps = { transactionId: string; link: { id: string }; reload: Reload }

/** Undoes a link without asking for a reason. The audit log records both the link and its undo. */
export function UndoLink({ transactionId, link, reload }: UndoLinkProps) {
  const undo = async () => {
    const request = { reason: 'Link undone', link: link.id }
    await send(`purchases/${encodeSegment(transactionId)}/take-back`, request)
    await reload()
  }
  return (
    <Confirm label="Undo link" done="Link undone." run={undo}>
      <p>The user who has the purchase now loses it immediately. The audit log keeps the link.</p>
    </Confirm>
  )
}

function give(transactionId: string, user: string, reason: string, environment?: string) {
  const request = { user, reason, ...(environment === undefined ? {} : { environment }) }
  return send(`purchases/${encodeSegment(transactionId)}/give`, request)
}
