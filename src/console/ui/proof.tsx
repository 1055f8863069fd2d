import { startAuthentication } from '@simplewebauthn/browser'
import { useEffect, useRef, useState } from 'preact/hooks'
import { askForProof, send } from '../api.ts'
import { Dialog } from './dialog.tsx'
import { Act, Field } from './parts.tsx'

/** Asks for a passkey or a code before what only the operator may do. */
export function ProofDialog() {
  const [isOpen, setOpen] = useState(false)
  const [code, setCode] = useState('')
  const answer = useRef<(isProven: boolean) => void>(() => {})
  useEffect(() => {
    askForProof.value = () => {
      setCode('')
      setOpen(true)
      return new Promise((resolve) => {
        answer.current = resolve
      })
    }
  }, [])
  if (!isOpen) return null
  const close = (isProven: boolean) => {
    answer.current(isProven)
    answer.current = () => {}
    setOpen(false)
  }
  const byPasskey = async () => {
    const passkey = await passkeyFor('me/proof/passkey')
    await send('me/proof', { passkey })
    close(true)
  }
  const byCode = async () => {
    await send('me/proof', { code: code.trim() })
    close(true)
  }
  return (
    <Dialog title="Confirm that it is you" onClose={() => close(false)}>
      <p>What you are about to do needs your passkey, or a code of your authenticator app.</p>
      <Act kind="main" act={byPasskey}>
        Use a passkey
      </Act>
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <Field label="Code" hint="Six digits, or a recovery code">
          <input
            value={code}
            inputMode="numeric"
            autocomplete="one-time-code"
            onInput={(event) => setCode(event.currentTarget.value)}
          />
        </Field>
        <div class="actions end">
          <button type="button" onClick={() => close(false)}>
            Cancel
          </button>
          <Act act={byCode} disabled={code.trim() === ''} isSubmit>
            Use the code
          </Act>
        </div>
      </form>
    </Dialog>
  )
}

/** Has the browser show a passkey for a challenge of `path`. */
export async function passkeyFor(path: string) {
  const optionsJSON = await send<Parameters<typeof startAuthentication>[0]['optionsJSON']>(path)
  return startAuthentication({ optionsJSON })
}
