import { useEffect, useState } from 'preact/hooks'
import { read, sessionEnded } from './api.ts'
import { Frame } from './frame.tsx'
import { type Me, me } from './operator.ts'
import { Login, type LoginState } from './screens/login.tsx'
import { Messages } from './ui/messages.tsx'
import { describeError } from './ui/parts.tsx'
import { ProofDialog } from './ui/proof-dialog.tsx'

type State =
  | { kind: 'loading' }
  | { kind: 'signed-out'; login: LoginState }
  | { kind: 'signed-in' }
  | { kind: 'failed'; message: string }

/** The login page, or the console of a signed-in operator. */
export function App() {
  const [state, setState] = useState<State>({ kind: 'loading' })
  const load = async () => {
    try {
      const login = await read<LoginState>('login/state')
      if (!login.isSignedIn) return setState({ kind: 'signed-out', login })
      me.value = await read<Me>('me')
      setState({ kind: 'signed-in' })
    } catch (error) {
      setState({ kind: 'failed', message: describeError(error) })
    }
  }
  useEffect(() => {
    if (isSecureContext) void load()
  }, [])
  useEffect(() => sessionEnded.subscribe((count) => count > 0 && void load()), [])
  if (!isSecureContext) return <Insecure />
  return (
    <>
      {state.kind === 'signed-out' && <Login state={state.login} onSignedIn={load} />}
      {state.kind === 'signed-in' && <Frame />}
      {state.kind === 'failed' && (
        <main class="login">
          <h1>The console could not load</h1>
          <p role="alert">{state.message}</p>
          <button type="button" class="primary" onClick={load}>
            Try again
          </button>
        </main>
      )}
      <ProofDialog />
      <Messages />
    </>
  )
}

/** Over plain http, browsers allow cookies and passkeys on localhost only. */
function Insecure() {
  const port = location.port || '80'
  return (
    <main class="login">
      <h1>The console needs HTTPS</h1>
      <p>
        This page was loaded over plain HTTP, which others on the network can read. Set TLS_DOMAINS,
        or put an HTTPS proxy in front of the server.
      </p>
      <p>
        Or open an SSH tunnel:{' '}
        <code>
          ssh -L {port}:localhost:{port} your-server
        </code>
        , and go to http://localhost:{port}/console.
      </p>
    </main>
  )
}
