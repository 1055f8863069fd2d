import { useEffect, useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { me } from '../../operator.ts'
import { createPasskey, type PasskeyOptions, passkeyObstacle } from '../../passkey.ts'
import { setupToken } from '../../setup-link.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Action } from '../../ui/parts.tsx'
import { describeError } from '../../ui/problems.tsx'
import { Loading } from '../../ui/remote.tsx'
import { KeepActions } from './one-time-secret.tsx'

type Offer = {
  name: string
  passkey: PasskeyOptions
  totp: { secret: string; url: string; qr: string[]; sealed: string }
}

type SetUpProps = { token: string; onSignedIn: () => void }

/** Creates the credentials of the operator whom an invitation link names. */
export function SetUp({ token, onSignedIn }: SetUpProps) {
  const { offer, refusal } = useOffer(token)
  const [codes, setCodes] = useState<string[]>([])
  const [wantsPassword, setWantsPassword] = useState(passkeyObstacle !== null)
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
  const finish = () => {
    setupToken.value = null
    onSignedIn()
  }
  if (codes.length > 0) return <RecoveryCodes codes={codes} onSignedIn={finish} />
  if (!offer) return <Loading />
  const submitPasskey = async () => {
    await send('login/set-up', { token, ...(await createPasskey(offer.passkey)) })
    finish()
  }
  return (
    <>
      {passkeyObstacle === null ? (
        <>
          <p>Hello {offer.name}. Choose how to sign in.</p>
          <Action {...(wantsPassword ? {} : { kind: 'primary' })} run={submitPasskey}>
            Create a passkey on this device
          </Action>
        </>
      ) : (
        <p>
          Hello {offer.name}. {passkeyObstacle} Use a password and an authenticator app, or open the
          link in another browser.
        </p>
      )}
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

/** The operator of an invitation link, or why the link is refused. */
function useOffer(token: string) {
  const [offer, setOffer] = useState<Offer | null>(null)
  const [refusal, setRefusal] = useState('')
  useEffect(() => {
    setOffer(null)
    setRefusal('')
    send<Offer>('login/link', { token }).then(setOffer, (error) => setRefusal(describeError(error)))
  }, [token])
  return { offer, refusal }
}

type SwitchProps = { token: string; onSignedOut: () => Promise<void> }

/** Asks an operator who is signed in what to do with an invitation link. */
export function SwitchOperator({ token, onSignedOut }: SwitchProps) {
  const { offer, refusal } = useOffer(token)
  const stay = () => {
    setupToken.value = null
  }
  const signOut = async () => {
    await send('me/sign-out')
    me.value = null
    await onSignedOut()
  }
  return (
    <Dialog title={`You are signed in as ${me.value?.name}`} onClose={stay}>
      {refusal !== '' && <p role="alert">{refusal}</p>}
      {offer && (
        <p>
          Sign out and set up as {offer.name}? Your unsaved changes stay in this browser. You can
          also open the link on another device.
        </p>
      )}
      <div class="actions end">
        <button type="button" onClick={stay}>
          Stay signed in
        </button>
        {offer && (
          <Action kind="primary" run={signOut}>
            Sign out and set up as {offer.name}
          </Action>
        )}
      </div>
    </Dialog>
  )
}

type PasswordProps = { token: string; offer: Offer; onDone: (codes: string[]) => void }

function PasswordSetUp({ token, offer, onDone }: PasswordProps) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const { qr, secret, sealed, url } = offer.totp
  const finish = async () => {
    const choice = { token, password, code: code.trim(), sealed }
    onDone((await send<{ recoveryCodes: string[] }>('login/set-up', choice)).recoveryCodes)
  }
  return (
    <form class="stack" onSubmit={(event) => event.preventDefault()}>
      {/* Shown as text above; password managers read it here. */}
      <input
        class="unseen"
        name="username"
        value={offer.name}
        autocomplete="username"
        aria-label="Name"
        tabIndex={-1}
        readOnly
      />
      <TextField
        label="New password"
        hint="At least 10 characters"
        name="password"
        type="password"
        value={password}
        autocomplete="new-password"
        onChange={setPassword}
      />
      <a class="button touch" href={url}>
        Add to your authenticator app
      </a>
      <QrCode rows={qr} />
      <p class="soft">
        Scan this with your authenticator app, or enter <code>{inFours(secret)}</code>.
      </p>
      <TextField
        label="Code"
        hint="The six digits in your authenticator app"
        name="code"
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

/** Easier to type; authenticator apps ignore the spaces. */
function inFours(secret: string): string {
  return secret.replaceAll(/.{4}(?=.)/g, '$& ')
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
      <KeepActions
        text={codes.join('\n')}
        copyLabel="Copy codes"
        fileName="homeport-recovery-codes.txt"
      />
      <button type="button" onClick={onSignedIn}>
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
