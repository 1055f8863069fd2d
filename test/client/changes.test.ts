import { describe, expect, test } from 'bun:test'
import { createEventParser } from '../../src/client/changes.ts'
import { createClient } from '../../src/client/client.ts'
import { createTestApp, PASSWORD } from '../support/app.ts'
import { BACKENDS_AND_SEALED } from '../support/backends.ts'
import { serveApp } from '../support/served.ts'
import { until } from '../support/until.ts'

const ALL = ['subscription', 'profile', 'data', 'settings']

function rename(client: Client, name: string) {
  return client.changeProfile({ profile: { name } })
}

describe.each(BACKENDS_AND_SEALED)('$name:', ({ env, open }) => {
  test('a listener is called once for every kind, then for each change', async () => {
    await using app = await open()
    await using server = app.serve()
    const client = createClient({ ...server.options, env })
    await client.register({ email: 'ann@example.com', password: PASSWORD })
    const seen = listen(client)
    await seen.until(ALL)
    await rename(client, 'Ann')
    await seen.until([...ALL, 'profile'])
    await app.setUnderMaintenance(true)
    await seen.until([...ALL, 'profile', 'settings'])
    seen.stop()
    await app.setUnderMaintenance(false)
    await until(() => app.countStreams() === 0, 'the stream does not end')
    expect(seen.kinds).toEqual([...ALL, 'profile', 'settings'])
  })

  test('the connection follows the session: it starts with a sign-in and ends with the sign-out', async () => {
    await using app = await open()
    await using server = app.serve()
    const ended: string[] = []
    const client = createClient({
      ...server.options,
      env,
      onSignedOut: () => ended.push('session'),
    })
    const seen = listen(client)
    const email = 'ann@example.com'
    await client.register({ email, password: PASSWORD })
    await seen.until(ALL)
    await app.signOutEverywhere(email)
    await until(() => ended.length > 0, 'the session does not end')
    expect(await client.isSignedIn()).toBe(false)
    await client.login({ email, password: PASSWORD })
    await seen.until([...ALL, ...ALL])
    await client.logout()
    await until(() => app.countStreams() === 0, 'the stream does not end')
    seen.stop()
  })

  test('several listeners share one connection, and each gets every kind', async () => {
    await using app = await open()
    await using server = app.serve()
    const client = createClient({ ...server.options, env })
    await client.register({ email: 'ann@example.com', password: PASSWORD })
    const first = listen(client)
    await first.until(ALL)
    const second = listen(client)
    await second.until(ALL)
    expect(app.countStreams()).toBe(1)
    await rename(client, 'Ann')
    await Promise.all([first.until([...ALL, 'profile']), second.until([...ALL, 'profile'])])
    first.stop()
    await rename(client, 'Ann B.')
    await second.until([...ALL, 'profile', 'profile'])
    second.stop()
    await until(() => app.countStreams() === 0, 'the stream does not end')
  })
})

test('a client that reconnects learns what has changed since', async () => {
  await using app = await createTestApp()
  await using server = serveApp(app)
  const { client, cut } = cuttingClient(server.url)
  const { user } = await client.register({ email: 'ann@example.com', password: PASSWORD })
  const seen = listen(client)
  await seen.until(ALL)
  cut()
  await until(() => app.services.changes.countStreams() === 0, 'the stream does not end')
  const { changes, db } = app.services
  await db.write((tx) => changes.record(tx, user._id, 'profile'))
  await seen.until([...ALL, 'profile'])
  seen.stop()
}, 60_000)

test('a hidden page has no connection, and learns what has changed when it is shown again', async () => {
  await using app = await createTestApp()
  await using server = serveApp(app)
  const handlers = new Map<string, () => void>()
  const page = { visibilityState: 'visible' }
  const show = (state: string) => {
    page.visibilityState = state
    handlers.get('visibilitychange')?.()
  }
  const { addEventListener, removeEventListener } = globalThis
  Object.assign(globalThis, {
    document: page,
    addEventListener: (name: string, handler: () => void) => handlers.set(name, handler),
    removeEventListener: (name: string) => handlers.delete(name),
  })
  try {
    const client = createClient({ baseUrl: server.url })
    await client.register({ email: 'ann@example.com', password: PASSWORD })
    const seen = listen(client)
    await seen.until(ALL)
    show('hidden')
    await until(() => app.services.changes.countStreams() === 0, 'the stream does not end')
    await rename(client, 'Ann')
    expect(seen.kinds).toEqual(ALL)
    show('visible')
    await seen.until([...ALL, 'profile'])
    seen.stop()
    await until(() => handlers.size === 0, 'a handler is left')
  } finally {
    Object.assign(globalThis, { addEventListener, removeEventListener })
    Reflect.deleteProperty(globalThis, 'document')
  }
})

test('events are parsed from pieces of any length', () => {
  const text = 'retry: 3000\nid: 1\nevent: ready\ndata: {}\n\n:\n\nevent: data\ndata: {}\n\n'
  const expected = [{ retry: 3000, id: '1', name: 'ready' }, {}, { name: 'data' }]
  for (let size = 1; size <= text.length; size++) {
    const events: unknown[] = []
    const parse = createEventParser((event) => events.push(event))
    for (let at = 0; at < text.length; at += size) parse(text.slice(at, at + size))
    expect(events).toEqual(expected)
  }
})

test('ignores an id that is no valid header, and an endless delay', () => {
  const events: unknown[] = []
  const parse = createEventParser((event) => events.push(event))
  parse('id: →\nretry: 99999999999\nevent: data\n\nretry: soon\nid: 2\n\n')
  expect(events).toEqual([{ name: 'data' }, { id: '2' }])
})

test('without streaming fetch, the stream is read by XMLHttpRequest', async () => {
  await using app = await createTestApp()
  await using server = serveApp(app)
  const { body } = Object.getOwnPropertyDescriptors(Response.prototype)
  Object.assign(globalThis, { XMLHttpRequest: xhrOverFetch() })
  Reflect.deleteProperty(Response.prototype, 'body')
  try {
    const client = createClient({ baseUrl: server.url })
    await client.register({ email: 'ann@example.com', password: PASSWORD })
    const seen = listen(client)
    await seen.until(ALL)
    await rename(client, 'Ann')
    await seen.until([...ALL, 'profile'])
    seen.stop()
    await until(() => app.services.changes.countStreams() === 0, 'the stream does not end')
  } finally {
    Object.defineProperty(Response.prototype, 'body', body as PropertyDescriptor)
    Reflect.deleteProperty(globalThis, 'XMLHttpRequest')
  }

  /** React Native's XMLHttpRequest, over a platform whose `fetch` does stream. */
  function xhrOverFetch() {
    const readBody = body?.get as (this: Response) => ReadableStream<Uint8Array>
    return class {
      upload = {}
      onprogress = () => {}
      onload = () => {}
      onerror = () => {}
      status = 0
      responseText = ''
      #url = ''
      #headers = new Headers()
      #reply: Response | null = null
      #controller = new AbortController()
      open(_method: string, url: string) {
        this.#url = url
      }
      setRequestHeader(name: string, value: string) {
        this.#headers.set(name, value)
      }
      getResponseHeader(name: string) {
        return this.#reply?.headers.get(name) ?? null
      }
      abort() {
        this.#controller.abort()
      }
      send() {
        this.#read().then(
          () => this.onload(),
          () => this.onerror(),
        )
      }
      async #read() {
        const { signal } = this.#controller
        this.#reply = await fetch(this.#url, { headers: this.#headers, signal })
        this.status = this.#reply.status
        for await (const chunk of readBody.call(this.#reply)) {
          this.responseText += new TextDecoder().decode(chunk)
          this.onprogress()
        }
      }
    }
  }
})

type Client = ReturnType<typeof createClient>

/** Collects the kinds that a client reports. */
function listen(client: Client) {
  const kinds: string[] = []
  const stop = client.onChange(({ kind }) => kinds.push(kind))
  return {
    kinds,
    stop,
    until: (expected: string[]) =>
      until(() => kinds.length >= expected.length, `not all of ${expected} are reported`).then(() =>
        expect(kinds).toEqual(expected),
      ),
  }
}

/** A client whose open requests can be cut off, as a lost network does. */
function cuttingClient(baseUrl: string) {
  let connections: AbortController[] = []
  const client = createClient({
    baseUrl,
    fetch: (url, init) => {
      const connection = new AbortController()
      connections.push(connection)
      const signals = [connection.signal, ...(init?.signal ? [init.signal] : [])]
      return fetch(url, { ...init, signal: AbortSignal.any(signals) })
    },
  })
  const cut = () => {
    for (const connection of connections) connection.abort()
    connections = []
  }
  return { client, cut }
}
