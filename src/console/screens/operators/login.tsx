import { useEffect, useState } from 'preact/hooks'
import { withVisibleControls } from '../../direction-controls.ts'
import { appTitle, type Identity } from '../../operator.ts'
import { setupToken } from '../../setup-link.ts'
import { Copy } from '../../ui/parts.tsx'
import { NeedsCookies } from './needs-cookies.tsx'
import { SetUp } from './set-up.tsx'
import { SignIn } from './sign-in.tsx'

export type LoginState = Identity & {
  hasOperators: boolean
  isDemo: boolean
  isSignedIn: boolean
  /** Creates the first operator; null if there is one. */
  firstCommand: string | null
}

type LoginProps = { state: LoginState; onSignedIn: () => void }

/** The login page, or the setup page for an operator who opened an invitation link. */
export function Login({ state, onSignedIn }: LoginProps) {
  const [token, setToken] = useState(setupToken.value)
  useEffect(() => setupToken.subscribe((next) => next !== null && setToken(next)), [])
  const title = `${appTitle.value} console`
  useEffect(() => {
    document.title = withVisibleControls(title)
  }, [])
  return (
    <main class="login">
      <h1>{title}</h1>
      {token === null && !state.hasOperators ? (
        <FirstOperator command={state.firstCommand ?? ''} />
      ) : (
        <NeedsCookies>
          {token === null ? (
            <>
              {state.isDemo && (
                <p>
                  This is a demo. Open the console with the link that the server has shown in its
                  terminal.
                </p>
              )}
              <SignIn onSignedIn={onSignedIn} />
            </>
          ) : (
            <SetUp key={token} token={token} onSignedIn={onSignedIn} />
          )}
        </NeedsCookies>
      )}
    </main>
  )
}

function FirstOperator({ command }: { command: string }) {
  return (
    <>
      <h2>Create the first operator</h2>
      <p>
        Operators sign in here.{' '}
        {location.hostname === 'localhost'
          ? 'The terminal in which the server was started shows a link that creates the first one. Or run'
          : 'To create the first one and get a link, run'}{' '}
        this on the server, with a name of your choice:
      </p>
      <pre>{command}</pre>
      <div class="actions">
        <Copy text={command} />
      </div>
    </>
  )
}
