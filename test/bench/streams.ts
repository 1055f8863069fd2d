import { connect } from 'bun'
import { median } from './median.ts'
import { http, load, ROUNDS, SECONDS } from './rounds.ts'
import { residentMemory, runHomeport, startHomeport } from './servers.ts'

const STREAMS = 10_000
const AT_ONCE = 50
const PORTS = [4806, 4807] as const
/** A moderate load: a full one would measure the queue of requests. */
const CONNECTIONS = 4
const MAX_MEMORY_MB = 150
const MAX_P99_RATIO = 1.2
/** Heartbeats are sent every 25 s. */
const SETTLE_MS = 30_000

/** Open streams of changes: their memory, their effect on other requests, and how fast a change reaches all of them. */
export async function benchStreams(folders: readonly [string, string], tokens: readonly string[]) {
  const [busy, idle] = [
    await startHomeport(folders[0], PORTS[0]),
    await startHomeport(folders[1], PORTS[1]),
  ]
  const measure = async (at: 0 | 1) => {
    const request = http('GET', '/api/user/profile/v1', tokens[at])
    return load({ port: PORTS[at], connections: CONNECTIONS, seconds: SECONDS, request })
  }
  const guests = await createGuests()
  for (const at of [0, 1] as const) await measure(at)
  await Bun.sleep(SETTLE_MS)
  const before = await residentMemory(busy.pid)
  const streams = await openStreams(guests)
  await Bun.sleep(SETTLE_MS)
  const memory = (await residentMemory(busy.pid)) - before

  const rounds: { streams: number; none: number }[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const p99 = { streams: (await measure(0)).p99, none: (await measure(1)).p99 }
    if (round > 0) rounds.push(p99)
  }
  const [withStreams, without] = [
    median(rounds.map((round) => round.streams)),
    median(rounds.map((round) => round.none)),
  ]
  const all = streams.allHave('event: settings')
  const start = performance.now()
  await runHomeport(folders[0], ['settings', 'set', 'underMaintenance=true'])
  await all
  const broadcast = performance.now() - start
  const afterwards = (await residentMemory(busy.pid)) - before
  console.log(
    `${STREAMS} streams: ${(memory / 1e6).toFixed(0)} MB (goal ${MAX_MEMORY_MB}), ${(memory / STREAMS / 1e3).toFixed(1)} kB each; ${(afterwards / 1e6).toFixed(0)} MB after the load`,
  )
  console.log(
    `profile GET beside them: p99 ${withStreams.toFixed(2)} ms, ${without.toFixed(2)} ms without, ratio ${(withStreams / without).toFixed(2)} (goal ${MAX_P99_RATIO})`,
  )
  console.log(`a published setting reaches all streams after ${broadcast.toFixed(0)} ms`)
  streams.close()
  await busy.stop()
  await idle.stop()
}

/** The tokens of as many guests as there are streams. */
async function createGuests(): Promise<string[]> {
  const tokens: string[] = []
  const url = `http://127.0.0.1:${PORTS[0]}/api/auth/guest/v1`
  for (let at = 0; at < STREAMS; at += AT_ONCE) {
    const replies = Array.from({ length: AT_ONCE }, async () => {
      const reply = await fetch(url, { method: 'POST' })
      const { response } = (await reply.json()) as { response: { accessToken: string } }
      return response.accessToken
    })
    tokens.push(...(await Promise.all(replies)))
  }
  return tokens
}

async function openStreams(tokens: string[]) {
  let awaited = 'event: ready'
  let missing = new Set<unknown>()
  const sockets: { end(): void }[] = []
  for (let at = 0; at < tokens.length; at += AT_ONCE) {
    await Promise.all(tokens.slice(at, at + AT_ONCE).map(openStream))
  }
  return { allHave, close: () => sockets.map((socket) => socket.end()) }

  async function openStream(token: string) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const socket = await connect({
      hostname: '127.0.0.1',
      port: PORTS[0],
      socket: {
        data(source, chunk) {
          const text = chunk.toString()
          if (text.includes('event: ready')) resolve()
          if (text.includes(awaited)) missing.delete(source)
        },
        close: () => reject(new Error('a stream was closed')),
      },
    })
    sockets.push(socket)
    socket.write(http('GET', '/api/user/changes/v1', token))
    await promise
  }

  async function allHave(event: string) {
    awaited = event
    missing = new Set(sockets)
    while (missing.size > 0) await Bun.sleep(1)
  }
}
