import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Act, Field } from './parts.tsx'

type DialogProps = { title: string; onClose: () => void; children: ComponentChildren }

/** A question in front of the page; Escape closes it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    element.current?.showModal()
  }, [])
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

type ConfirmProps = {
  /** What the buttons say that it does, such as `Delete Ann’s account`. */
  label: string
  /** What will be gone. */
  children: ComponentChildren
  act: () => Promise<unknown>
  done: string
  /** What must be typed first. */
  typed?: string
  disabled?: boolean
}

/** A button for what cannot be undone: it asks, and says what it does. */
export function Confirm({ label, children, act, done, typed, disabled }: ConfirmProps) {
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState('')
  return (
    <>
      <button type="button" class="danger" disabled={disabled} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={label} onClose={() => setOpen(false)}>
          {children}
          {typed !== undefined && (
            <Field label={`Type ${typed} to go on`}>
              <input
                value={text}
                autocomplete="off"
                spellcheck={false}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </Field>
          )}
          <div class="actions end">
            <button type="button" onClick={() => setOpen(false)}>
              Cancel
            </button>
            <Act
              kind="danger"
              disabled={typed !== undefined && text !== typed}
              done={done}
              act={async () => {
                await act()
                setOpen(false)
              }}
            >
              {label}
            </Act>
          </div>
        </Dialog>
      )}
    </>
  )
}
