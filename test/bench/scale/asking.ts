import { connect } from 'bun'
import { replySize } from '../load.ts'
import type { Sides } from './sides.ts'

/** What a server is asked, again and again. */
export type Case = {
  name: string
  /** Returns a whole HTTP/1.1 request: see `http` in `rounds.ts`. */
  request: () => string | Promise<string>
  /** How many are measured of each server; see `REQUESTS`. */
  requests?: number
  /** Learns the body of each reply. */
  learn?: (body: string) => void
  /** Whether pages anywhere in the file are needed, which a server that was just started has to read. */
  isScattered?: boolean
}

/** Latencies in ms, in ascending order, of each block of requests. */
export type Latencies = { name: string; large: number[][]; empty: number[][] }

const REQUESTS = 500
const BLOCKS = 5
/** A share of the requests that is sent first and not counted. */
const WARM_UP = 0.1
/** What is very slow is asked less often: a block ends after so many ms. */
const BLOCK_TIME = 4_000

type Asked = { port: number; asked: Case }

/** Asks two servers the same, case by case. */
export async function askAll(
  { large, empty }: Sides,
  cases: { large: Case[]; empty: Case[] },
  tell: (text: string) => void,
  isWarm = true,
): Promise<Latencies[]> {
  const all: Latencies[] = []
  for (const [at, asked] of cases.large.entries()) {
    const same = cases.empty[at]
    if (!same) throw new Error(`${asked.name} is not asked of both`)
    const [ours, theirs] = [
      { port: large.port, asked },
      { port: empty.port, asked: same },
    ]
    const times = await askBoth(ours, theirs, isWarm)
    tell(asked.name)
    all.push(times)
  }
  return all
}

/** Asks two servers in turns, block by block, one request after the other. */
async function askBoth(large: Asked, empty: Asked, isWarm = true): Promise<Latencies> {
  const { name, requests = REQUESTS } = large.asked
  const times: Latencies = { name, large: [], empty: [] }
  const perBlock = Math.ceil(requests / BLOCKS)
  if (isWarm) {
    await askBlock(large, Math.ceil(requests * WARM_UP))
    await askBlock(empty, Math.ceil(requests * WARM_UP))
  }
  for (let block = 0; block < BLOCKS; block++) {
    const ours = async () => times.large.push(await askBlock(large, perBlock))
    const theirs = async () => times.empty.push(await askBlock(empty, perBlock))
    for (const ask of block % 2 === 0 ? [ours, theirs] : [theirs, ours]) await ask()
  }
  return times
}

async function askBlock({ port, asked }: Asked, count: number): Promise<number[]> {
  const { name, request, learn = () => {} } = asked
  using connection = await openConnection(port)
  const times: number[] = []
  const end = performance.now() + BLOCK_TIME
  for (let sent = 0; sent < count && performance.now() < end; sent++) {
    const { status, body, ms } = await connection.ask(await request())
    if (status !== 200) throw new Error(`${name}: ${status} ${body.slice(0, 200)}`)
    learn(body)
    times.push(ms)
  }
  return times.sort((a, b) => a - b)
}

/** A bare socket that is kept open: asking must cost less than answering. */
async function openConnection(port: number) {
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
      close: () => waiting.reject(new Error('the server has closed the connection')),
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
