import { useEffect, useRef, useState } from 'preact/hooks'
import { askForProof, send } from '../api.ts'
import { passkeyObstacle, signWithPasskey } from '../passkey.ts'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { Action } from '../ui/parts.tsx'

/** Asks for a passkey or a code before a destructive action. */
export function ProofDialog() {
  const [isOpen, setOpen] = useState(false)
  const [code, setCode] = useState('')
  const answer = useRef<(isProven: boolean) => void>(() => {})
  useEffect(() => {
    askForProof.value = () => {
      // There is only one dialog, so an action that is already waiting fails.
      answer.current(false)
      setCode('')
      setOpen(true)
      return new Promise((resolve) => {
        answer.current = resolve
      })
    }
    return () => answer.current(false)
  }, [])
  if (!isOpen) return null
  const close = (isProven: boolean) => {
    answer.current(isProven)
    answer.current = () => {}
    setOpen(false)
  }
  const submitPasskey = async () => {
    const passkey = await signWithPasskey('me/proof/passkey')
    await send('me/proof', { passkey })
    close(true)
  }
  const submitCode = async () => {
    await send('me/proof', { code: code.trim() })
    close(true)
  }
  return (
    <Dialog title="Confirm it’s you" onClose={() => close(false)}>
      {passkeyObstacle === null ? (
        <>
          <p>This needs your passkey, or a code from your authenticator app.</p>
          <Action kind="primary" run={submitPasskey}>
            Use a passkey
          </Action>
        </>
      ) : (
        <p>This needs a code from your authenticator app. {passkeyObstacle}</p>
      )}
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <TextField
          label="Code"
          hint="Six digits, or a recovery code"
          value={code}
          inputMode="numeric"
          autocomplete="one-time-code"
          onChange={setCode}
        />
        <div class="actions end">
          <button type="button" onClick={() => close(false)}>
            Cancel
          </button>
          <Action run={submitCode} disabled={code.trim() === ''} isSubmit>
            Use code
          </Action>
        </div>
      </form>
    </Dialog>
  )
}
