import { withDeadline } from '../../src/client/deadline.ts'
import type { Fetch } from '../../src/client/fetch.ts'
import { createSealedTransport } from '../../src/client/sealed-transport.ts'
import { createTransmit } from '../../src/client/transmit.ts'
import { onTheWire } from './network.ts'

const BASE = 'http://localhost'

/** Seals requests with the client's own transport; `handle` replaces the network. */
export function sealingClient(handle: (request: Request) => Promise<Response>, now: () => number) {
  const fetch: Fetch = (url, init) => handle(onTheWire(url, init))
  const transmit = createTransmit(fetch)
  const options = { baseUrl: BASE, env: 'production', pinnedKeys: null, transmit, now }
  const transport = createSealedTransport(options)
  return async (request: Request) => {
    const { method, url } = request
    const {
      authorization,
      'content-type': contentType = null,
      ...headers
    } = request.headers.toJSON()
    const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer())
    const reply = await withDeadline({ timeout: 30_000 }, (deadline) =>
      transport({
        method,
        target: url.slice(BASE.length),
        headers: headers as Record<string, string>,
        token: authorization?.replace('Bearer ', '') ?? null,
        contentType,
        body,
        deadline,
      }),
    )
    return { status: reply.status, headers: { get: reply.header }, text: reply.text }
  }
}
