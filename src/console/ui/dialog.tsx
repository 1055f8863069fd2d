import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { TextField, VERBATIM } from './fields.tsx'
import { Action } from './parts.tsx'
import { Problems } from './problems.tsx'

type DialogProps = {
  title: string
  children: ComponentChildren
  onClose?: () => void
  /** The dialog hides the page and cannot be closed with Escape. */
  isRequired?: boolean
  /** Its action is running, so it cannot be closed. */
  isBusy?: boolean
}

/** A modal dialog; Escape closes it. Errors of its actions are shown inside. */
export function Dialog(props: DialogProps) {
  const { title, onClose, children, isRequired = false, isBusy = false } = props
  const isLocked = isRequired || isBusy
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const focused = document.activeElement
    element.current?.showModal()
    // The browser restores the focus only when the dialog is closed, not when it is removed.
    return () => {
      if (focused instanceof HTMLElement && focused.isConnected) focused.focus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      class={isRequired ? 'veil' : ''}
      aria-labelledby={id}
      onCancel={(event) => isLocked && event.preventDefault()}
      onClose={() => (isLocked ? element.current?.showModal() : onClose?.())}
    >
      <h2 id={id}>{title}</h2>
      <Problems>{children}</Problems>
    </dialog>
  )
}

/** Whether an action is running: its dialog must not look cancelled while the server executes the action. */
export function useBusy<Args extends unknown[]>(run: (...args: Args) => Promise<unknown>) {
  const [isBusy, setBusy] = useState(false)
  const runBusy = async (...args: Args) => {
    setBusy(true)
    return run(...args).finally(() => setBusy(false))
  }
  return { isBusy, runBusy }
}

export type ConfirmProps = {
  /** The title, and the text of both buttons, such as `Delete Ann’s account`. */
  label: string
  children: ComponentChildren
  run: () => Promise<unknown>
  done: string
  /** What the operator must type to confirm. */
  confirmText?: string
  /** A shorter text of the second button, such as `Delete account`. */
  verb?: string
  /** A shorter text of the first button, where the context makes the rest clear. */
  shortLabel?: string
  /** The action can be undone, so its buttons are not red. */
  isReversible?: boolean
  /** The first button is not red, because the one beside it does more damage. */
  isSecondary?: boolean
  /** The action would do nothing, or input is missing, so the second button is disabled. */
  isDisabled?: boolean
  onOpen?: () => void
}

/** A button for an action that asks for confirmation first. */
export function Confirm(props: ConfirmProps) {
  const {
    label,
    shortLabel = label,
    verb = label,
    children,
    run,
    done,
    confirmText,
    isReversible,
    isSecondary,
    isDisabled = false,
    onOpen,
  } = props
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState('')
  const { isBusy, runBusy } = useBusy(run)
  const open = () => {
    setText('')
    onOpen?.()
    setOpen(true)
  }
  const confirm = async () => {
    const result = await runBusy()
    setOpen(false)
    return result
  }
  return (
    <>
      <button
        type="button"
        class={isReversible || isSecondary ? '' : 'danger'}
        aria-label={label}
        onClick={open}
      >
        {shortLabel}
      </button>
      {isOpen && (
        <Dialog title={label} onClose={() => setOpen(false)} isBusy={isBusy}>
          <form class="stack" onSubmit={(event) => event.preventDefault()}>
            {children}
            {confirmText !== undefined && (
              <TextField
                label={`Type ${confirmText} to confirm`}
                value={text}
                {...VERBATIM}
                onChange={setText}
              />
            )}
            <div class="actions end">
              <button type="button" disabled={isBusy} onClick={() => setOpen(false)}>
                Cancel
              </button>
              <Action
                kind={isReversible ? 'primary' : 'danger'}
                isSubmit
                disabled={isDisabled || (confirmText !== undefined && text !== confirmText)}
                done={done}
                run={confirm}
              >
                {verb}
              </Action>
            </div>
          </form>
        </Dialog>
      )}
    </>
  )
}
