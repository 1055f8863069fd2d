import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { Loading } from '../../ui/remote.tsx'

/** Shows `children` only if the browser keeps cookies. Without cookies, a link or a recovery code would be wasted. */
export function NeedsCookies({ children }: { children: ComponentChildren }) {
  const [areKept, setKept] = useState<boolean | null>(null)
  // If the server cannot be reached, the form says so.
  const check = () => keepsCookies().then(setKept, () => setKept(true))
  useEffect(() => {
    void check()
  }, [])
  if (areKept === null) return <Loading />
  if (areKept) return <>{children}</>
  return (
    <>
      <p role="alert" class="bad">
        This browser does not keep cookies for {location.host}, so it cannot stay signed in.
      </p>
      <p>Allow cookies for this site in the browser’s settings, or use another browser.</p>
      <button type="button" onClick={check}>
        Try again
      </button>
    </>
  )
}

/** The first request sets a cookie; the second shows whether it came back. */
async function keepsCookies(): Promise<boolean> {
  const ask = () => send<{ areKept: boolean }>('login/cookies')
  return (await ask()).areKept || (await ask()).areKept
}
