import { join } from 'node:path'
import { importJWK } from 'jose'
import { sealRequest } from '../../src/client/sealing.ts'
import { readKeyForPayloads } from '../support/messages.ts'
import type { Load } from './load.ts'
import { median } from './median.ts'
import { http, load, ROUNDS, SECONDS } from './rounds.ts'
import { cpuTime, type RunningServer, startHomeport } from './servers.ts'

const PATH = '/api/user/profile/v1'
const PORT = 4805
const GOAL = 0.6
/** More than one round can send, because the server accepts each message only once. */
const MESSAGE_COUNT = 15_000

export type Measured = { perSecond: number; cpu: number }

/** The same requests to the same server, alternately plain and sealed. */
export async function benchSealed(folder: string, dataDir: string, token: string) {
  const server = await startHomeport(dataDir, PORT)
  const jwk = await readKeyForPayloads(`http://127.0.0.1:${PORT}`)
  const key = { kid: jwk.kid, key: await importJWK(jwk, 'ECDH-ES') }
  // Each patch sets another name, because an unchanged value would not be written.
  const patch = (id: string) => JSON.stringify({ profile: { name: `Ann ${id}` } }).padEnd(1_024)
  const common = { port: PORT, connections: 32, seconds: SECONDS }

  await compareModes('profile GET', { ...common, request: http('GET', PATH, token) }, async () => {
    // A sealed read may be repeated while it is fresh.
    return { ...common, request: await sealedRequest('GET', null) }
  })
  await compareModes(
    '1 KB PATCH',
    { ...common, request: http('PATCH', PATH, token, patch('{{id}}')) },
    async () => {
      const requests: string[] = []
      for (let at = 0; at < MESSAGE_COUNT; at++)
        requests.push(await sealedRequest('PATCH', patch(String(at).padStart(12, '0'))))
      const file = join(folder, 'messages.json')
      await Bun.write(file, JSON.stringify(requests))
      return { ...common, request: '', file }
    },
  )
  await server.stop()

  async function compareModes(name: string, plain: Load, sealed: () => Promise<Load>) {
    const rounds: { plain: Measured; sealed: Measured }[] = []
    for (let round = 0; round <= ROUNDS; round++) {
      const next = await sealed()
      const measured = { plain: await measure(server, plain), sealed: await measure(server, next) }
      if (round > 0) rounds.push(measured)
    }
    const medianOf = (read: (round: (typeof rounds)[number]) => number) => median(rounds.map(read))
    const ratio = medianOf((round) => round.sealed.perSecond / round.plain.perSecond)
    const cost = medianOf((round) => round.sealed.cpu - round.plain.cpu)
    const figures = [
      medianOf((round) => round.sealed.perSecond),
      medianOf((round) => round.plain.perSecond),
    ]
    const [sealedRate, plainRate] = figures.map((figure) => `${Math.round(figure)}/s`)
    console.log(
      `sealed ${name}: ${ratio.toFixed(2)} of plain (goal ${GOAL}) — ${sealedRate} against ${plainRate}`,
    )
    console.log(`  extra CPU per message compared to plain: ${cost.toFixed(3)} ms`)
  }

  async function sealedRequest(method: string, body: string | null): Promise<string> {
    const content = {
      method,
      target: PATH,
      token,
      contentType: body === null ? null : 'application/json',
      body: new TextEncoder().encode(body ?? ''),
    }
    const { message } = await sealRequest(content, key, Date.now())
    const head = [`${method} ${PATH} HTTP/1.1`, 'Host: 127.0.0.1', 'env: production']
    if (body === null) return `${[...head, `Payload: ${message}`].join('\r\n')}\r\n\r\n`
    head.push('Content-Type: application/jose', `Content-Length: ${message.length}`)
    return `${head.join('\r\n')}\r\n\r\n${message}`
  }
}

/** Requests per second, and the server's CPU time for each, in ms. */
export async function measure({ pid }: RunningServer, options: Load): Promise<Measured> {
  const before = await cpuTime(pid)
  const { perSecond, requests } = await load(options)
  return { perSecond, cpu: ((await cpuTime(pid)) - before) / requests }
}
