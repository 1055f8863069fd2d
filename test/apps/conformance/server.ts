import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { errorReply } from '../../../src/client/testing/faults.ts'
import { findOperation } from '../../../src/client/testing/operations.ts'
import { readBody } from '../../../src/client/testing/requests.ts'
import { createFakeServer, type FakeServer } from '../../../src/client/testing/testing.ts'
import type { Fault, Json, ServerSetup } from './types.ts'

/** A received request. */
export type Received = {
  request: string
  query: Record<string, string>
  headers: Record<string, string>
  body: unknown
  files: { name: string; type: string; size: number }[]
}

export type ScriptedServer = Awaited<ReturnType<typeof startServer>>

/** The time at which every scenario begins. */
export const NOW = Date.parse('2026-03-01T12:00:00.000Z')
const HTML = '<!doctype html><html><head><title>Welcome</title></head><body>Sign in</body></html>'
/** Replies that the server identifies by an `ETag`. */
const WITH_ETAG =
  /^\/api\/user\/(subscription|profile|app_settings|pricing_plans|currency_rates|faqs)\/v1$/

/** The fake server on a real socket, with virtual time and scripted faults. */
export async function startServer({ users = [], ...content }: ServerSetup = {}) {
  const requests: Received[] = []
  let faults: { fault: Fault; skip: number; left: number }[] = []
  const holds = new Map<string, { waiting: number; resume: () => void; gate: Promise<void> }>()
  const streams = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      if (!response.headersSent) response.writeHead(500)
      response.end(String(error?.stack ?? error))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const fake = createFakeServer({ url, now: NOW, ...content })
  for (const user of users) fake.addUser(user)
  return {
    url,
    requests,
    now: fake.now,
    advance: (ms: number) => fake.advance({ ms }),
    addFault: (fault: Fault) => {
      const left = fault.times === 'forever' ? Number.POSITIVE_INFINITY : (fault.times ?? 1)
      faults.push({ fault, skip: fault.skip ?? 0, left })
    },
    repair() {
      faults = []
      for (const name of holds.keys()) release(name)
    },
    release,
    countHeld: (name: string) => holds.get(name)?.waiting ?? 0,
    run,
    stop() {
      for (const name of holds.keys()) release(name)
      server.closeAllConnections()
      server.close()
    },
  }

  /** Runs a function of the fake server, or one that only scenarios need. */
  function run(name: string, args: Json[]): unknown {
    const own = {
      openSession,
      breakConnections: () => {
        for (const stream of streams) stream.socket?.destroy()
      },
      forgeClaims,
      listEmails: () => fake.listUsers().map(({ email }) => email),
      twoFactorCode: () => fake.twoFactorCode,
    } as Record<string, (...args: never[]) => unknown>
    const found = own[name] ?? fake[name as keyof FakeServer]
    if (typeof found !== 'function') throw new TypeError(`The server has no function ${name}.`)
    return found(...(args as never[]))
  }

  /** Signs a user in, and returns the session. */
  async function openSession(email: string, password: string) {
    const body = JSON.stringify({ email, password })
    const headers = { 'content-type': 'application/json' }
    const reply = await fake.fetch(`${url}/api/auth/login/v1`, { method: 'POST', headers, body })
    return ((await reply.json()) as { response: unknown }).response
  }

  /** Replaces the claims in a kept subscription, under the signature of the real ones. */
  function forgeClaims(kept: string, claims: object): string {
    const document = JSON.parse(kept)
    const { data } = document.entries.subscription
    const [header, payload, signature] = data.proof.split('.')
    const real = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const forged = Buffer.from(JSON.stringify({ ...real, ...claims })).toString('base64url')
    data.proof = [header, forged, signature].join('.')
    return JSON.stringify(document)
  }

  function release(name: string) {
    holds.get(name)?.resume()
    holds.delete(name)
  }

  async function hold(name: string) {
    const { promise: gate, resolve: resume } = Promise.withResolvers<void>()
    const held = holds.get(name) ?? { waiting: 0, resume, gate }
    holds.set(name, held)
    held.waiting++
    await held.gate
  }

  function takeFault(operation: string, route: string): Fault | null {
    for (const entry of faults) {
      if (entry.left <= 0 || ![operation, route, '*'].includes(entry.fault.target)) continue
      if (entry.skip-- > 0) continue
      entry.left--
      return entry.fault
    }
    return null
  }

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const method = request.method ?? 'GET'
    const target = new URL(request.url ?? '/', url)
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    )
    const route = `${method} ${target.pathname}`
    const { json, files } = await readBody(body, headers['content-type'] ?? '')
    const query = Object.fromEntries(target.searchParams)
    requests.push({ request: route, query, headers: { ...headers }, body: json, files })
    const closed = new AbortController()
    response.on('close', () => closed.abort())
    const fault = takeFault(findOperation(route)?.name ?? route, route)
    const carryOut = () => {
      const init: RequestInit = { method, headers, signal: closed.signal }
      if (body.length > 0) init.body = new Uint8Array(body)
      return fake.fetch(String(target), init)
    }
    await reply(fault, carryOut, request, response, headers)
  }

  async function reply(
    fault: Fault | null,
    carryOut: () => Promise<Response>,
    request: IncomingMessage,
    response: ServerResponse,
    headers: Record<string, string>,
  ) {
    const { network, html, reply: scripted, code } = fault ?? {}
    if (fault?.withoutToken) Reflect.deleteProperty(headers, 'authorization')
    if (fault?.hold !== undefined && fault.before) await hold(fault.hold)
    const fails = network !== undefined || html !== undefined || scripted || code !== undefined
    const isCarriedOut = !fails || fault?.tookEffect || network === 'lost'
    const usual = isCarriedOut ? await carryOut() : null
    if (fault?.hold !== undefined && !fault.before) await hold(fault.hold)
    if (network !== undefined) return breakOff(network, request, response)
    const type = { 'content-type': html === undefined ? 'application/json' : 'text/html' }
    if (html !== undefined)
      return send(new Response(HTML, { status: html, headers: type }), request, response)
    if (scripted) {
      const { status = 200, headers: own = {}, body } = scripted
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return send(new Response(text, { status, headers: { ...type, ...own } }), request, response)
    }
    if (code === undefined) return send(usual as Response, request, response)
    const { message, details, retryAfter, status } = fault ?? {}
    const error = { message, details, retryAfter, status }
    await send(errorReply(code, error as Parameters<typeof errorReply>[1]), request, response)
  }

  function breakOff(
    network: NonNullable<Fault['network']>,
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    if (network === 'silent') return
    if (network === 'refused') return void request.socket.destroy()
    const type = { 'content-type': 'application/json', 'content-length': '1000' }
    response.writeHead(200, { ...commonHeaders(), ...type })
    const end = network === 'stalled' ? () => {} : () => void request.socket.destroy()
    response.write('{"code":"ok","response":{', end)
  }

  async function send(reply: Response, request: IncomingMessage, response: ServerResponse) {
    const headers = { ...commonHeaders(), ...Object.fromEntries(reply.headers) }
    if (headers['content-type']?.startsWith('text/event-stream')) {
      streams.add(response)
      response.on('close', () => streams.delete(response))
      response.writeHead(reply.status, headers)
      for await (const chunk of reply.body as unknown as AsyncIterable<Uint8Array>)
        response.write(chunk)
      return void response.end()
    }
    const body = await reply.text()
    const { pathname } = new URL(request.url ?? '/', url)
    if (reply.status === 200 && request.method === 'GET' && WITH_ETAG.test(pathname)) {
      headers['etag'] ??= `"${Bun.hash(body).toString(36)}"`
      if (request.headers['if-none-match'] === headers['etag']) {
        response.writeHead(304, headers)
        return void response.end()
      }
    }
    headers['content-length'] = String(Buffer.byteLength(body))
    response.writeHead(reply.status, headers)
    response.end(body)
  }

  /** Each request has its own connection, so that no platform repeats a request after its connection has ended. */
  function commonHeaders(): Record<string, string> {
    return { connection: 'close', date: new Date(fake.now()).toUTCString() }
  }
}
