import { useEffect, useState } from 'preact/hooks'
import { send } from '../api.ts'
import { createPasskey, type PasskeyOptions, signWithPasskey } from '../passkey.ts'
import { TextField } from '../ui/fields.tsx'
import { Action, describeError } from '../ui/parts.tsx'
import { Loading } from '../ui/remote.tsx'

export type LoginState = { appName: string; hasOperators: boolean; isSignedIn: boolean }

type Offer = {
  name: string
  passkey: PasskeyOptions
  totp: { secret: string; url: string; qr: string[]; sealed: string }
}

type LoginProps = { state: LoginState; onSignedIn: () => void }

/** The login page, or the setup page for an operator who opened an invitation link. */
export function Login({ state, onSignedIn }: LoginProps) {
  const [token] = useState(takeToken)
  useEffect(() => {
    document.title = `${state.appName} console`
  }, [])
  return (
    <main class="login">
      <h1>{state.appName} console</h1>
      {token ? (
        <SetUp token={token} onSignedIn={onSignedIn} />
      ) : state.hasOperators ? (
        <SignIn onSignedIn={onSignedIn} />
      ) : (
        <FirstOperator />
      )}
    </main>
  )
}

/** Reads the token in a link and removes it from the address. Servers never see the part after #. */
function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('setup')
  if (token) history.replaceState(null, '', location.pathname)
  return token
}

function FirstOperator() {
  return (
    <>
      <h2>Create the first operator</h2>
      <p>Operators sign in here. Run this on the server to create the first one and get a link:</p>
      <pre>homeport operators add your-name</pre>
    </>
  )
}

function SignIn({ onSignedIn }: { onSignedIn: () => void }) {
  const [name, setName] = useState('')
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
      <Action kind="primary" run={submitPasskey}>
        Sign in with a passkey
      </Action>
      <form onSubmit={(event) => event.preventDefault()}>
        <h2>Or use a password</h2>
        <TextField label="Name" value={name} autocomplete="username" onChange={setName} />
        <TextField
          label="Password"
          type="password"
          value={password}
          autocomplete="current-password"
          onChange={setPassword}
        />
        <TextField
          label="Code"
          hint="Six digits from your authenticator app, or a recovery code"
          value={code}
          autocomplete="one-time-code"
          onChange={setCode}
        />
        <Action run={submitPassword} isSubmit>
          Sign in
        </Action>
      </form>
      <div>
        <p class="soft">Locked out? Run this on the server to get a new link:</p>
        <pre>homeport operators reset your-name</pre>
      </div>
    </>
  )
}

function SetUp({ token, onSignedIn }: { token: string; onSignedIn: () => void }) {
  const [offer, setOffer] = useState<Offer | null>(null)
  const [refusal, setRefusal] = useState('')
  const [codes, setCodes] = useState<string[]>([])
  const [wantsPassword, setWantsPassword] = useState(false)
  useEffect(() => {
    send<Offer>('login/link', { token }).then(setOffer, (error) => setRefusal(describeError(error)))
  }, [])
  if (refusal) {
    return (
      <>
        <p role="alert" class="bad">
          {refusal}
        </p>
        <p>
          If you have already completed the setup,{' '}
          <a href="/console" target="_self">
            sign in
          </a>
          . Otherwise ask an owner for a new link, or run this on the server:
        </p>
        <pre>homeport operators reset your-name</pre>
      </>
    )
  }
  if (codes.length > 0) return <RecoveryCodes codes={codes} onSignedIn={onSignedIn} />
  if (!offer) return <Loading />
  const submitPasskey = async () => {
    await send('login/set-up', { token, ...(await createPasskey(offer.passkey)) })
    onSignedIn()
  }
  return (
    <>
      <p>Hello {offer.name}. Choose how to sign in.</p>
      <Action kind="primary" run={submitPasskey}>
        Create a passkey on this device
      </Action>
      {wantsPassword ? (
        <PasswordSetUp token={token} offer={offer} onDone={setCodes} />
      ) : (
        <button type="button" onClick={() => setWantsPassword(true)}>
          Use a password and an authenticator app
        </button>
      )}
    </>
  )
}

type PasswordProps = { token: string; offer: Offer; onDone: (codes: string[]) => void }

function PasswordSetUp({ token, offer, onDone }: PasswordProps) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const { qr, secret, sealed } = offer.totp
  const finish = async () => {
    const choice = { token, password, code: code.trim(), sealed }
    onDone((await send<{ recoveryCodes: string[] }>('login/set-up', choice)).recoveryCodes)
  }
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <input type="hidden" autocomplete="username" value={offer.name} />
      <TextField
        label="New password"
        hint="At least 10 characters"
        type="password"
        value={password}
        autocomplete="new-password"
        onChange={setPassword}
      />
      <QrCode rows={qr} />
      <p class="soft">
        Scan this with your authenticator app, or enter <code>{secret}</code>.
      </p>
      <TextField
        label="Code"
        hint="The six digits in your authenticator app"
        value={code}
        inputMode="numeric"
        autocomplete="one-time-code"
        onChange={setCode}
      />
      <Action kind="primary" run={finish} isSubmit>
        Set password
      </Action>
    </form>
  )
}

function RecoveryCodes({ codes, onSignedIn }: { codes: string[]; onSignedIn: () => void }) {
  return (
    <>
      <h2>Recovery codes</h2>
      <p>
        Use these codes if you lose your authenticator app. Each works once. Save them now: they are
        not shown again.
      </p>
      <ul class="codes">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <button type="button" class="primary" onClick={onSignedIn}>
        I saved these codes
      </button>
    </>
  )
}

/** Draws the dark modules as one path. */
function QrCode({ rows }: { rows: string[] }) {
  const path = rows
    .flatMap((row, y) => [...row].map((dark, x) => (dark === '1' ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  return (
    <svg class="qr" viewBox={`0 0 ${rows.length} ${rows.length}`} role="img" aria-label="QR code">
      <path d={path} fill="#000" />
    </svg>
  )
}
