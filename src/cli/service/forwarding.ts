import { rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import type { Config } from '../../config/config.ts'
import { bodyToForward } from '../../platform/http/body/body.ts'
import { findPeerAddress, setPeerAddress } from '../../platform/http/request/client-address.ts'
import { isListening, isNotListening, openSocketPath } from '../server/command-socket.ts'

/** The application that a request is for. */
export type Target = 'app' | 'console'
export type Forward = (
  target: Target,
  request: Request,
  server: Bun.Server<unknown>,
) => Promise<Response>

const SOCKET = 'requests.sock'
/** Only our own processes may set headers with this prefix. */
const INTERNAL = 'homeport-'
const TARGET = 'homeport-target'
const PEER = 'homeport-peer'
const REQUESTED_URL = 'homeport-url'
/** Headers that the runtime's client adds although the request did not have them. */
const ABSENT = 'homeport-absent'
/** The content length of a streamed body. */
const LENGTH = 'homeport-length'
const ADDED = ['accept', 'accept-encoding', 'user-agent']
/** Headers about a connection, which are not forwarded. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'te', 'expect', 'date']

/** Smaller bodies are buffered, so that they can be resent until the socket exists. */
const MAX_BUFFERED_BYTES = 1024 * 1024
const RETRY_MS = 10
/** The next process may migrate the data before it answers. */
const FORWARD_TIMEOUT_MS = 60_000
/** How long a client's connection is kept open in the meantime: the runtime's maximum. */
const MAX_IDLE_SECONDS = 255
/** How long connections made before the socket was unlinked are still accepted. */
const ACCEPT_PENDING_MS = 50

/** Answers requests forwarded by earlier processes, over a socket that only this user can open. */
export async function serveForwarded(
  config: Config,
  maxRequestBodySize: number,
  handle: (target: Target, request: Request) => Response | Promise<Response>,
) {
  const { path } = openSocketPath(config, SOCKET)
  rmSync(path, { force: true })
  const server = Bun.serve({
    unix: path,
    maxRequestBodySize,
    fetch(request, server) {
      // The earlier process applies the timeout to its clients.
      server.timeout(request, 0)
      const original = restoreRequest(request, config.isTls)
      return handle(request.headers.get(TARGET) === 'console' ? 'console' : 'app', original)
    },
  })
  await chmod(path, 0o600)
  return { stop }

  /** Unlinks the socket, so that the next process can take its path, and answers the pending requests. */
  async function stop() {
    rmSync(path, { force: true })
    await Bun.sleep(ACCEPT_PENDING_MS)
    await server.stop()
  }
}

/** Forwards requests to the process that now has the data, or waits for it. `refuse` responds if none appears in time. */
export function createForward(
  config: Config,
  refuse: (request: Request) => Response | Promise<Response>,
): Forward {
  return async (target, request, server) => {
    const body = await bodyToForward(request, MAX_BUFFERED_BYTES)
    server.timeout(request, MAX_IDLE_SECONDS)
    const isRepeatable = !(body instanceof ReadableStream)
    if (!isRepeatable) await waitUntilServing(config)
    for (let waited = 0; ; waited += RETRY_MS) {
      try {
        using socket = openSocketPath(config, SOCKET)
        const reply = await fetch('http://localhost/', {
          unix: socket.path,
          method: request.method,
          headers: forwardedHeaders(target, request, findPeerAddress(request, server)),
          body,
          redirect: 'manual',
          decompress: false,
          keepalive: false,
          signal: request.signal,
          timeout: false,
        } as BunFetchRequestInit)
        if (reply.headers.get('content-type')?.startsWith('text/event-stream')) {
          // A stream would keep this process running; the app reconnects, to the next process.
          await reply.body?.cancel()
          return refuse(request)
        }
        return new Response(reply.body, {
          status: reply.status,
          headers: withoutHopByHop(reply.headers),
        })
      } catch (error) {
        if (!isNotListening(error) || !isRepeatable || waited >= FORWARD_TIMEOUT_MS)
          return refuse(request)
      }
      await Bun.sleep(RETRY_MS)
    }
  }
}

async function waitUntilServing(config: Config) {
  for (let waited = 0; waited < FORWARD_TIMEOUT_MS; waited += RETRY_MS) {
    using socket = openSocketPath(config, SOCKET)
    if (await isListening(socket.path)) return
    await Bun.sleep(RETRY_MS)
  }
}

function forwardedHeaders(target: Target, request: Request, peer: string | null): Headers {
  const headers = withoutHopByHop(request.headers)
  for (const name of [...headers.keys()]) if (name.startsWith(INTERNAL)) headers.delete(name)
  const length = headers.get('content-length')
  headers.delete('content-length')
  if (length !== null) headers.set(LENGTH, length)
  headers.set(TARGET, target)
  headers.set(REQUESTED_URL, request.url)
  headers.set(PEER, peer ?? '')
  headers.set(ABSENT, ADDED.filter((name) => !headers.has(name)).join())
  return headers
}

/** The request as the earlier process received it. */
function restoreRequest(request: Request, isTls: boolean): Request {
  const { headers } = request
  const url = headers.get(REQUESTED_URL) ?? ''
  const absent = (headers.get(ABSENT) ?? '').split(',')
  const peer = headers.get(PEER)
  const length = headers.get(LENGTH)
  const internal = [TARGET, REQUESTED_URL, PEER, ABSENT, LENGTH]
  for (const name of [...internal, ...absent]) if (name) headers.delete(name)
  if (length !== null) {
    headers.delete('transfer-encoding')
    headers.set('content-length', length)
  }
  const scheme = isTls ? 'https' : 'http'
  const { method, body, signal } = request
  // A clone of the request would deliver the body only after all of it has arrived.
  const original = new Request(url.startsWith('/') ? `${scheme}://localhost${url}` : url, {
    method,
    headers,
    body,
    signal,
  })
  if (peer) setPeerAddress(original, peer)
  return original
}

function withoutHopByHop(headers: Headers): Headers {
  const kept = new Headers(headers)
  for (const name of HOP_BY_HOP) kept.delete(name)
  return kept
}
