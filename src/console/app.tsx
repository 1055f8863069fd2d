import { useEffect, useRef, useState } from 'preact/hooks'
import { apiAddress, askToSignIn, read, readQuietly, send } from './api.ts'
import { type Declarations, declarations } from './declared.ts'
import { Frame } from './frame/frame.tsx'
import { otherTabs } from './frame/other-tabs.ts'
import { ProofDialog } from './frame/proof-dialog.tsx'
import { identity, type Me, me } from './operator.ts'
import { Login, type LoginState } from './screens/operators/login.tsx'
import { SwitchOperator } from './screens/operators/set-up.tsx'
import { SignIn } from './screens/operators/sign-in.tsx'
import { setupToken, takeToken } from './setup-link.ts'
import { Dialog } from './ui/dialog.tsx'
import { dismissMessages } from './ui/messages.tsx'
import { describeError } from './ui/problems.tsx'
import { useHidden } from './ui/remote.tsx'
import { forgetVisits } from './visits.ts'

type State =
  | { kind: 'loading' }
  | { kind: 'signed-out'; login: LoginState }
  | { kind: 'signed-in' }
  | { kind: 'failed'; message: string }

const RETRY_MS = 2_000

export function App() {
  const [state, setState] = useState<State>({ kind: 'loading' })
  const [isSessionOver, setSessionOver] = useState(false)
  const waiting = useRef<((isSameOperator: boolean) => void)[]>([])
  const load = async () => {
    try {
      const demoToken = takeToken('demo')
      if (demoToken !== null) await send('login/demo', { token: demoToken })
      const login = await read<LoginState>('login/state')
      identity.value = login
      if (login.isSignedIn) {
        const [next, declared] = await Promise.all([
          readQuietly<Me>('me'),
          readQuietly<Declarations>('declarations'),
        ])
        declarations.value = declared
        return enter(next)
      }
      if (me.value === null) setState({ kind: 'signed-out', login })
      else setSessionOver(true)
    } catch (error) {
      answer(false)
      if (me.value === null) setState({ kind: 'failed', message: describeError(error) })
    }
  }
  const enter = (next: Me) => {
    const isSameOperator = me.value?.name === next.name
    if (!isSameOperator) {
      dismissMessages()
      forgetVisits()
    }
    me.value = next
    setState({ kind: 'signed-in' })
    setSessionOver(false)
    answer(isSameOperator)
  }
  /** Repeats the requests that wait for a session, unless another operator has signed in. */
  const answer = (isSameOperator: boolean) => {
    for (const resolve of waiting.current.splice(0)) resolve(isSameOperator)
  }
  const changeOperator = async () => {
    await load()
    otherTabs?.postMessage(null)
  }
  useEffect(() => {
    if (!isSecureContext) return
    askToSignIn.value = () =>
      new Promise((resolve) => {
        waiting.current.push(resolve)
        if (waiting.current.length === 1) void load()
      })
    if (otherTabs) otherTabs.onmessage = () => void load()
    void load()
  }, [])
  const isHidden = useHidden()
  const [attempt, setAttempt] = useState(0)
  const isFollowed = state.kind === 'signed-in' && !isSessionOver && !isHidden
  useEffect(() => {
    if (!isFollowed) return
    const session = new EventSource(apiAddress('session'))
    let retry: ReturnType<typeof setTimeout>
    session.onerror = () => {
      void load()
      // The browser stops reconnecting if a proxy responded instead of the server.
      if (session.readyState === EventSource.CLOSED)
        retry = setTimeout(() => setAttempt(attempt + 1), RETRY_MS)
    }
    return () => {
      session.close()
      clearTimeout(retry)
    }
  }, [isFollowed, attempt])
  if (!isSecureContext) return <Insecure />
  return (
    <>
      {state.kind === 'signed-out' && <Login state={state.login} onSignedIn={changeOperator} />}
      {state.kind === 'signed-in' && (
        <>
          <Frame key={me.value?.name} />
          {setupToken.value !== null && !isSessionOver && (
            <SwitchOperator token={setupToken.value} onSignedOut={changeOperator} />
          )}
          {isSessionOver && <SessionOver onSignedIn={changeOperator} />}
        </>
      )}
      {state.kind === 'failed' && (
        <main class="login">
          <h1>The console could not load</h1>
          <p role="alert">{state.message}</p>
          <button type="button" class="primary" onClick={load}>
            Try again
          </button>
        </main>
      )}
      {/* A proof by the next operator must not complete an action of the previous one. */}
      <ProofDialog key={me.value?.name} />
    </>
  )
}

/** The open screen keeps its state. */
function SessionOver({ onSignedIn }: { onSignedIn: () => Promise<void> }) {
  return (
    <Dialog title="Your session ended. Sign in to continue" isRequired>
      <p>
        Your changes are kept. If someone other than {me.value?.name} signs in, they will not see
        them.
      </p>
      <SignIn name={me.value?.name} onSignedIn={onSignedIn} />
    </Dialog>
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
