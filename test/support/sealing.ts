import { createServerKeys } from '../../src/client/server-keys.ts'
import { createTransmit, type Fetch } from '../../src/client/transmit.ts'
import { createTransport } from '../../src/client/transport.ts'
import { onTheWire } from './network.ts'

const BASE = 'http://localhost'

/** Sends requests sealed, by the client's own transport; `handle` stands for the network. */
export function sealingClient(handle: (request: Request) => Promise<Response>, now: () => number) {
  const fetch: Fetch = (url, init) => handle(onTheWire(url, init))
  const transmit = createTransmit(fetch)
  const keys = createServerKeys({ baseUrl: BASE, pinnedKeys: null, transmit, now })
  const transport = createTransport({ baseUrl: BASE, env: 'production', keys, transmit, now })
  return async (request: Request) => {
    const { method, url } = request
    const {
      authorization,
      'content-type': contentType = null,
      ...headers
    } = request.headers.toJSON()
    const reply = await transport({
      method,
      target: url.slice(BASE.length),
      headers: headers as Record<string, string>,
      token: authorization?.replace('Bearer ', '') ?? null,
      contentType,
      body: request.body === null ? null : new Uint8Array(await request.arrayBuffer()),
    })
    return { status: reply.status, headers: { get: reply.header }, text: reply.text }
  }
}
