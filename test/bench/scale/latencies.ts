import { connect } from 'bun'
import { replySize } from '../load.ts'
import type { Sides } from './sides.ts'

/** A request to measure repeatedly. */
export type Case = {
  name: string
  /** Returns a complete HTTP/1.1 request: see `http` in `rounds.ts`. */
  request: () => string | Promise<string>
  /** Measured requests per server; see `REQUESTS`. */
  requests?: number
  /** Receives the body of each response. */
  onReply?: (body: string) => void
  /** Whether the request reads random pages of the file, which are not cached after a start. */
  isScattered?: boolean
}

/** Latencies of each block of requests, in ms, ascending. */
export type Latencies = { name: string; large: number[][]; empty: number[][] }

const REQUESTS = 500
const BLOCKS = 5
/** The share of requests that are sent first, as a warm-up, and not counted. */
const WARM_UP = 0.1
/** A block ends after this many ms, so slow cases send fewer requests. */
const BLOCK_TIME_MS = 4_000

type Target = { port: number; testCase: Case }

/** Sends the same requests to two servers, case by case. */
export async function measureAll(
  { large, empty }: Sides,
  cases: { large: Case[]; empty: Case[] },
  logProgress: (text: string) => void,
  isWarm = true,
): Promise<Latencies[]> {
  const all: Latencies[] = []
  for (const [at, testCase] of cases.large.entries()) {
    const counterpart = cases.empty[at]
    if (!counterpart) throw new Error(`the empty side has no case ${testCase.name}`)
    const [ours, theirs] = [
      { port: large.port, testCase },
      { port: empty.port, testCase: counterpart },
    ]
    const times = await measureBoth(ours, theirs, isWarm)
    logProgress(testCase.name)
    all.push(times)
  }
  return all
}

/** Sends requests to two servers in alternating blocks, one at a time. */
async function measureBoth(large: Target, empty: Target, isWarm = true): Promise<Latencies> {
  const { name, requests = REQUESTS } = large.testCase
  const times: Latencies = { name, large: [], empty: [] }
  const perBlock = Math.ceil(requests / BLOCKS)
  if (isWarm) {
    await measureBlock(large, Math.ceil(requests * WARM_UP))
    await measureBlock(empty, Math.ceil(requests * WARM_UP))
  }
  for (let block = 0; block < BLOCKS; block++) {
    const ours = async () => times.large.push(await measureBlock(large, perBlock))
    const theirs = async () => times.empty.push(await measureBlock(empty, perBlock))
    for (const ask of block % 2 === 0 ? [ours, theirs] : [theirs, ours]) await ask()
  }
  return times
}

async function measureBlock({ port, testCase }: Target, count: number): Promise<number[]> {
  const { name, request, onReply = () => {} } = testCase
  using connection = await openConnection(port)
  const times: number[] = []
  const end = performance.now() + BLOCK_TIME_MS
  for (let sent = 0; sent < count && performance.now() < end; sent++) {
    const { status, body, ms } = await connection.ask(await request())
    if (status !== 200) throw new Error(`${name}: ${status} ${body.slice(0, 200)}`)
    onReply(body)
    times.push(ms)
  }
  return times.sort((a, b) => a - b)
}

/** A bare socket that stays open, because the client must cost less than the server. */
export async function openConnection(port: number) {
  let received: Buffer = Buffer.alloc(0)
  let waiting = Promise.withResolvers<Buffer>()
  const socket = await connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data(_socket, chunk) {
        received = Buffer.concat([received, chunk])
        const size = replySize(received)
        if (size !== null && received.length >= size) waiting.resolve(received)
      },
      close: () => waiting.reject(new Error('the server closed the connection')),
    },
  })
  return { ask, [Symbol.dispose]: () => void socket.end() }

  async function ask(request: string) {
    received = Buffer.alloc(0)
    waiting = Promise.withResolvers()
    const start = performance.now()
    socket.write(request)
    const reply = await waiting.promise
    const ms = performance.now() - start
    const status = Number(reply.toString('latin1', 9, 12))
    return { status, body: reply.toString('utf8', reply.indexOf('\r\n\r\n') + 4), ms }
  }
}
