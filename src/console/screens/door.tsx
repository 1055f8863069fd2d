import { startRegistration } from '@simplewebauthn/browser'
import { useEffect, useState } from 'preact/hooks'
import { send } from '../api.ts'
import type { DoorState } from '../types.ts'
import { Act, Field, sentenceOf } from '../ui/parts.tsx'
import { passkeyFor } from '../ui/proof.tsx'

type Offer = {
  name: string
  passkey: Parameters<typeof startRegistration>[0]['optionsJSON']
  totp: { secret: string; url: string; qr: string[]; sealed: string }
}

/** Where operators come in: with what they have chosen, or with the link that sets them up. */
export function Door({ state, onIn }: { state: DoorState; onIn: () => void }) {
  const [token] = useState(() => takeToken())
  useEffect(() => {
    document.title = `${state.appName} console`
  }, [])
  return (
    <main class="door">
      <h1>{state.appName} console</h1>
      {token ? <SetUp token={token} onIn={onIn} /> : <Entrance state={state} onIn={onIn} />}
    </main>
  )
}

/** The token of a link stands behind #, where no server sees it; it leaves the address at once. */
function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('setup')
  if (token) history.replaceState(null, '', location.pathname)
  return token
}

function Entrance({ state, onIn }: { state: DoorState; onIn: () => void }) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  if (!state.hasOperators) {
    return (
      <>
        <h2>This console is not set up yet</h2>
        <p>
          It is closed until there is an operator, somebody who may sign in here. On the server,
          this makes the first one and prints a link:
        </p>
        <pre>homeport operators add your-name</pre>
      </>
    )
  }
  const byPasskey = async () => {
    await send('door/sign-in', { passkey: await passkeyFor('door/passkey') })
    onIn()
  }
  const byPassword = async () => {
    await send('door/sign-in', { name: name.trim(), password, code: code.trim() })
    onIn()
  }
  return (
    <>
      <Act kind="main" act={byPasskey}>
        Sign in with a passkey
      </Act>
      <form onSubmit={(event) => event.preventDefault()}>
        <h2>Or with a password</h2>
        <Field label="Name">
          <input
            value={name}
            autocomplete="username"
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </Field>
        <Field label="Password">
          <input
            type="password"
            value={password}
            autocomplete="current-password"
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </Field>
        <Field label="Code" hint="Six digits of your authenticator app, or a recovery code">
          <input
            value={code}
            autocomplete="one-time-code"
            onInput={(event) => setCode(event.currentTarget.value)}
          />
        </Field>
        <Act act={byPassword} isSubmit>
          Sign in
        </Act>
      </form>
      <div>
        <p class="soft">Locked out, or not set up yet? On the server, this prints a new link:</p>
        <pre>homeport operators reset your-name</pre>
      </div>
    </>
  )
}

function SetUp({ token, onIn }: { token: string; onIn: () => void }) {
  const [offer, setOffer] = useState<Offer | null>(null)
  const [why, setWhy] = useState('')
  const [codes, setCodes] = useState<string[]>([])
  const [isPassword, setPassword] = useState(false)
  useEffect(() => {
    send<Offer>('door/link', { token }).then(setOffer, (error) => setWhy(sentenceOf(error)))
  }, [])
  if (why) {
    return (
      <>
        <p role="alert" class="bad">
          {why}
        </p>
        <p>
          If you have made a passkey or a password with it,{' '}
          <a href="/console" target="_self">
            sign in
          </a>
          . Else ask who sent it for a new one. On the server, that is:
        </p>
        <pre>homeport operators reset your-name</pre>
      </>
    )
  }
  if (codes.length > 0) return <RecoveryCodes codes={codes} onIn={onIn} />
  if (!offer) return <div class="loading" role="status" aria-label="Loading" />
  const byPasskey = async () => {
    const passkey = await startRegistration({ optionsJSON: offer.passkey })
    await send('door/set-up', { token, passkey, passkeyName: deviceName() })
    onIn()
  }
  return (
    <>
      <p>Hello {offer.name}. Choose how you will sign in.</p>
      <Act kind="main" act={byPasskey}>
        Make a passkey on this device
      </Act>
      {isPassword ? (
        <PasswordSetUp token={token} offer={offer} onDone={setCodes} />
      ) : (
        <button type="button" onClick={() => setPassword(true)}>
          Use a password and an authenticator app
        </button>
      )}
    </>
  )
}

function PasswordSetUp({
  token,
  offer,
  onDone,
}: {
  token: string
  offer: Offer
  onDone: (codes: string[]) => void
}) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const { qr, secret, sealed } = offer.totp
  const finish = async () => {
    const choice = { token, password, code: code.trim(), sealed }
    onDone((await send<{ recoveryCodes: string[] }>('door/set-up', choice)).recoveryCodes)
  }
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <input type="hidden" autocomplete="username" value={offer.name} />
      <Field label="New password" hint="At least 10 characters">
        <input
          type="password"
          value={password}
          autocomplete="new-password"
          onInput={(event) => setPassword(event.currentTarget.value)}
        />
      </Field>
      <QrCode rows={qr} />
      <p class="soft">
        Scan this with an authenticator app, or type <code>{secret}</code> into it.
      </p>
      <Field label="Code" hint="The six digits that the app shows now">
        <input
          value={code}
          inputMode="numeric"
          autocomplete="one-time-code"
          onInput={(event) => setCode(event.currentTarget.value)}
        />
      </Field>
      <Act kind="main" act={finish} isSubmit>
        Set the password
      </Act>
    </form>
  )
}

function RecoveryCodes({ codes, onIn }: { codes: string[]; onIn: () => void }) {
  return (
    <>
      <h2>Recovery codes</h2>
      <p>
        Each of these works once in the place of a code. They are shown this once: keep them safe.
      </p>
      <ul class="codes">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <button type="button" class="main" onClick={onIn}>
        I have kept them
      </button>
    </>
  )
}

/** Dark modules as one path. */
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

/** What a passkey is called until somebody says better. */
export function deviceName(): string {
  const { userAgent } = navigator
  const system = /iPhone|iPad|Android|Mac OS|Windows|Linux/.exec(userAgent)?.[0] ?? 'Passkey'
  return system === 'Mac OS' ? 'Mac' : system
}
