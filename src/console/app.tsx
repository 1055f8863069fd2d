import { useEffect, useState } from 'preact/hooks'
import { read, sessionEnded } from './api.ts'
import { Frame } from './frame.tsx'
import { Door } from './screens/door.tsx'
import type { DoorState, Me } from './types.ts'
import { Messages } from './ui/messages.tsx'
import { sentenceOf } from './ui/parts.tsx'
import { ProofDialog } from './ui/proof.tsx'

type State =
  | { kind: 'loading' }
  | { kind: 'out'; door: DoorState }
  | { kind: 'in'; me: Me }
  | { kind: 'failed'; why: string }

/** The door, and behind it the console. */
export function App() {
  const [state, setState] = useState<State>({ kind: 'loading' })
  const load = async () => {
    try {
      const door = await read<DoorState>('door/state')
      if (door.isSignedIn) setState({ kind: 'in', me: await read<Me>('me') })
      else setState({ kind: 'out', door })
    } catch (error) {
      setState({ kind: 'failed', why: sentenceOf(error) })
    }
  }
  useEffect(() => {
    if (isSecureContext) void load()
  }, [])
  useEffect(() => sessionEnded.subscribe((count) => count > 0 && void load()), [])
  if (!isSecureContext) return <Insecure />
  return (
    <>
      {state.kind === 'out' && <Door state={state.door} onIn={load} />}
      {state.kind === 'in' && <Frame me={state.me} />}
      {state.kind === 'failed' && (
        <main class="door">
          <h1>The console cannot be opened</h1>
          <p role="alert">{state.why}</p>
          <button type="button" class="main" onClick={load}>
            Try again
          </button>
        </main>
      )}
      <ProofDialog />
      <Messages />
    </>
  )
}

/** Browsers keep cookies and passkeys from plain http, but on the machine itself. */
function Insecure() {
  const port = location.port || '80'
  return (
    <main class="door">
      <h1>The console needs https</h1>
      <p>
        This page was loaded over plain http, where anybody on the way could read along. Open it
        over https: set TLS_DOMAINS, or put a proxy with a certificate in front.
      </p>
      <p>
        On your own machine, a tunnel does as well:{' '}
        <code>
          ssh -L {port}:localhost:{port} your-server
        </code>
        , then open http://localhost:{port}/console.
      </p>
    </main>
  )
}
