import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { passkeyObstacle, signWithPasskey } from '../../passkey.ts'
import { TextField } from '../../ui/fields.tsx'
import { Action } from '../../ui/parts.tsx'

type SignInProps = {
  /** The operator who is expected to sign in. */
  name?: string | undefined
  onSignedIn: () => void
}

/** Signs in with a passkey, or with a password and a code. */
export function SignIn({ name: expected = '', onSignedIn }: SignInProps) {
  const [name, setName] = useState(expected)
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const submitPasskey = async () => {
    await send('login/sign-in', { passkey: await signWithPasskey('login/passkey') })
    onSignedIn()
  }
  const submitPassword = async () => {
    await send('login/sign-in', { name: name.trim(), password, code: code.trim() })
    onSignedIn()
  }
  return (
    <>
      {passkeyObstacle === null ? (
        <Action kind="primary" run={submitPasskey}>
          Sign in with a passkey
        </Action>
      ) : (
        <p>{passkeyObstacle} Use your password, or sign in from another browser.</p>
      )}
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <h2>{passkeyObstacle === null ? 'Or use a password' : 'Use your password'}</h2>
        <TextField
          label="Name"
          name="username"
          value={name}
          autocomplete="username"
          autocapitalize="none"
          spellcheck={false}
          onChange={setName}
        />
        <TextField
          label="Password"
          name="password"
          type="password"
          value={password}
          autocomplete="current-password"
          onChange={setPassword}
        />
        <TextField
          label="Code"
          hint="Six digits from your authenticator app, or a recovery code"
          name="code"
          value={code}
          autocomplete="one-time-code"
          onChange={setCode}
        />
        <Action run={submitPassword} isSubmit>
          Sign in
        </Action>
      </form>
      <div>
        <p class="soft">
          Locked out? Ask an owner to reset your sign-in, or run this on the server:
        </p>
        <pre>homeport operators reset your-name</pre>
      </div>
    </>
  )
}
