import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { SupportFacts } from '../../features/billing/admin.ts'
import { encodeSegment } from '../../lib/path-segment.ts'
import { send } from '../api.ts'
import { me } from '../operator.ts'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { Action } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

export type Reload = () => Promise<void>

const MAX_REASON_LENGTH = 500

/** Why support actions cannot be used here, and what the plans give; null until loaded. */
export function useSupportFacts(): SupportFacts | null {
  return useRemote<SupportFacts>('billing/support').data
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
  run: (reason: string) => Promise<unknown>
}

/** A button that asks for a reason before it acts. */
export function Act(props: ActProps) {
  const { label, confirm, done, children, isReady = true, isDanger = false, run } = props
  const [isOpen, setOpen] = useState(false)
  const [reason, setReason] = useState('')
  const open = () => {
    setReason('')
    setOpen(true)
  }
  const act = async () => {
    await run(reason.trim())
    setOpen(false)
  }
  return (
    <>
      <button type="button" class={isDanger ? 'danger' : ''} onClick={open}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={label} onClose={() => setOpen(false)}>
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
              <button type="button" onClick={() => setOpen(false)}>
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

type HeldPurchase = { productId: string | null; owner: { email: string | null } | null }

/** Links a purchase to the user of the page. */
export function LinkPurchase({ userId, reload }: { userId: string; reload: Reload }) {
  const [id, setId] = useState('')
  const [entered, setEntered] = useState('')
  const link = async (reason: string) => {
    await give(id.trim(), userId, reason)
    await reload()
  }
  return (
    <Act
      label="Link a purchase"
      confirm="Link purchase"
      done="Purchase linked."
      isReady={id.trim() !== ''}
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
        onBlur={() => setEntered(id.trim())}
      />
      {entered !== '' && <Holder key={entered} id={entered} />}
    </Act>
  )
}

/** Says which purchase has an id, and who has it now. */
function Holder({ id }: { id: string }) {
  const found = useRemote<{ purchases: HeldPurchase[] }>(`purchases?id=${encodeURIComponent(id)}`)
  return (
    <Loaded from={found}>
      {({ purchases }) => (
        <p role="status">
          {purchases.length === 0
            ? 'There is no such purchase.'
            : purchases.map(({ productId, owner }) => (
                <span key={productId}>
                  {productId ?? 'The purchase'} belongs to{' '}
                  {owner === null ? 'no user' : (owner.email ?? 'a guest')} now.{' '}
                </span>
              ))}
        </p>
      )}
    </Loaded>
  )
}

/** Links the purchase of the page to a user, or moves it. `loser` is the current owner; null if there is none. */
export function GivePurchase(props: {
  transactionId: string
  product: string
  loser: string | null
  reload: Reload
}) {
  const { transactionId, product, loser, reload } = props
  const [user, setUser] = useState('')
  return (
    <Act
      label={loser === null ? 'Link to a user' : 'Transfer to another user'}
      confirm={loser === null ? 'Link purchase' : 'Transfer purchase'}
      done="The purchase has a new owner."
      isReady={user.trim() !== ''}
      isDanger={loser !== null}
      run={async (reason) => {
        await give(transactionId, user.trim(), reason)
        await reload()
      }}
    >
      <p>
        The user gets {product} immediately, regardless of <code>PURCHASE_TRANSFER</code>.{' '}
        {loser === null ? 'It has no owner now.' : `${loser} loses it and is notified by e-mail.`}
      </p>
      <TextField
        label="User id or e-mail"
        value={user}
        autocomplete="off"
        spellcheck={false}
        maxLength={320}
        onChange={setUser}
      />
    </Act>
  )
}

type UndoLinkProps = { transactionId: string; link: { id: string }; reload: Reload }

/** Undoes a link in one step: the reason is the undo itself. */
export function UndoLink({ transactionId, link, reload }: UndoLinkProps) {
  const undo = async () => {
    const request = { reason: 'Link undone', link: link.id }
    await send(`purchases/${encodeSegment(transactionId)}/take-back`, request)
    await reload()
  }
  return (
    <Action run={undo} done="The link is undone.">
      Undo link
    </Action>
  )
}

function give(transactionId: string, user: string, reason: string) {
  return send(`purchases/${encodeSegment(transactionId)}/give`, { user, reason })
}
