import { type Client, createClient } from 'homeport-client'
import { HomeportProvider } from 'homeport-client/react'
import { createFakeServer } from 'homeport-client/testing'
import { act, createElement, type ReactElement, StrictMode } from 'react'
import { simulateDelay, until } from './until.ts'

// Without it, React warns about updates outside of `act`.
Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true })

type Root = { render: (element: ReactElement) => void; unmount: () => void }

/** A fake server with a user, and a client of it. */
export function openWorld() {
  const server = createFakeServer()
  const { url: baseUrl, fetch, now } = server
  const ann = server.addUser({ email: 'ann@example.com', password: 'correct horse battery' })
  const bob = server.addUser({ email: 'bob@example.com', password: 'correct horse battery' })
  const client = createClient({ baseUrl, fetch, now })
  const signIn = ({ email }: { email: string }) =>
    client.login({ email, password: 'correct horse battery' })
  const countReads = (name: string) =>
    server.requests.filter(({ operation }) => operation === name).length
  return { server, client, ann, bob, signIn, countReads }
}

/** Renders a hook: with react-dom if there is a document, otherwise without one, as React Native does. */
export async function renderHook<T>(
  useHook: () => T,
  { client, live = true }: { client: Client | null; live?: boolean },
) {
  const seen: T[] = []
  const Probe = () => {
    seen.push(useHook())
    return null
  }
  const treeOf = (isLive: boolean) =>
    createElement(
      StrictMode,
      null,
      client
        ? createElement(HomeportProvider, { client, live: isLive }, createElement(Probe))
        : createElement(Probe),
    )
  const root = await createRoot()
  const draw = (isLive: boolean) => act(async () => root.render(treeOf(isLive)))
  await draw(live)
  return {
    seen,
    get current(): T {
      return seen.at(-1) as T
    },
    until: (isExpected: (value: T) => boolean) =>
      untilRendered(
        () => isExpected(seen.at(-1) as T),
        `the hook does not return the expected value: ${isExpected}`,
      ),
    setLive: draw,
    unmount: () => act(async () => root.unmount()),
  }
}

/** Waits like `until`, and lets React render meanwhile. */
export function untilRendered(isDone: () => boolean, message: string) {
  return until(isDone, message, { pause: () => act(() => simulateDelay(2)) })
}

async function createRoot(): Promise<Root> {
  const { document } = globalThis as { document?: { createElement: (name: string) => unknown } }
  if (document) {
    const name = 'react-dom/client'
    const dom = await import(name)
    return dom.createRoot(document.createElement('div'))
  }
  const name = 'react-test-renderer'
  const { default: renderer } = await import(name)
  let tree: { update: (element: ReactElement) => void; unmount: () => void } | null = null
  return {
    render: (element) => {
      if (tree) tree.update(element)
      // Legacy roots, the default before React 19, do not render concurrently.
      else tree = withoutNotice(() => renderer.create(element, { unstable_isConcurrent: true }))
    },
    unmount: () => tree?.unmount(),
  }
}

/** React warns at each use that the renderer is deprecated, but offers no other one without a document. */
function withoutNotice<T>(work: () => T): T {
  const { error } = console
  console.error = () => {}
  try {
    return work()
  } finally {
    console.error = error
  }
}
