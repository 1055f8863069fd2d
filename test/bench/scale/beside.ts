import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { http } from '../rounds.ts'
import { EXECUTABLE } from '../servers.ts'
import { consoleCases, signInToConsole } from './console.ts'
import { type Case, openConnection } from './latencies.ts'
import { printTable, quantile } from './report.ts'
import { createTokenFactory, randomUser, type Side, type Sides, startSide } from './sides.ts'

/** Keeps the server busy until `signal` aborts. */
type Load = (signal: AbortSignal) => Promise<unknown>

const READS_PER_SECOND = 200
const CONNECTIONS = 8
const ROUNDS = 3
const ROUND_MS = 10_000
/** Reads are limited to this many users, whose pages stay in memory like those of active users. */
const ACTIVE_USERS = 2_000

/** Prints the latency of profile reads, 200 a second, while something else keeps the server busy. */
export async function benchBeside({ large }: Sides, logProgress: (text: string) => void) {
  await using _server = await startSide(large)
  const [cases, cookie] = [await consoleCases(large), await signInToConsole(large)]
  const backup = join(large.dataDir, '..', 'beside.tar')
  const loads: [name: string, load: Load][] = [
    ['nothing else', async () => {}],
    ['two console requests a second', (signal) => sendCases(large.port, cases, signal, 500)],
    ['console requests one after another', (signal) => sendCases(large.port, cases, signal)],
    ['a download of users as CSV', (signal) => downloadUsers(large, cookie, signal)],
    ['a backup', (signal) => runUntil(signal, large, ['backup', '--out', backup])],
    ['events rebuild', (signal) => runUntil(signal, large, ['events', 'rebuild'])],
  ]
  const times = new Map(loads.map(([name]) => [name, [] as number[][]]))
  const tokenOf = await createTokenFactory(large)
  await readProfiles(large, tokenOf)
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, load] of loads) {
      const stopping = new AbortController()
      const loading = load(stopping.signal)
      times.get(name)?.push(await readProfiles(large, tokenOf))
      stopping.abort()
      await loading
      logProgress(name)
    }
  }
  await rm(backup, { force: true })
  const rows = [...times].map(([name, rounds]) => [
    name,
    ...[0.5, 0.99, 1].map((share) => quantile(rounds, share).toFixed(2)),
  ])
  printTable('Profile reads, 200/s, beside', ['', 'p50, ms', 'p99', 'longest'], rows)
}

/** Latencies in ms, ascending, each from the time the read was due. */
async function readProfiles({ port, size }: Side, tokenOf: (at: number) => Promise<string>) {
  const times: number[] = []
  const active = () => randomUser({ ...size, users: Math.min(size.users, ACTIVE_USERS) })
  const gap = (1000 / READS_PER_SECOND) * CONNECTIONS
  const readOnOne = async (_: unknown, first: number) => {
    using connection = await openConnection(port)
    const start = performance.now() + (first * gap) / CONNECTIONS
    for (let due = start; due < start + ROUND_MS; due += gap) {
      const request = http('GET', '/api/user/profile/v1', await tokenOf(active()))
      await Bun.sleep(Math.max(0, due - performance.now()))
      const late = Math.max(0, performance.now() - due)
      const { status, ms } = await connection.ask(request)
      if (status !== 200) throw new Error(`the profile was answered with ${status}`)
      times.push(late + ms)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, readOnOne))
  return times.sort((a, b) => a - b)
}

async function sendCases(port: number, cases: Case[], signal: AbortSignal, pauseMs = 0) {
  using connection = await openConnection(port)
  for (let sent = 0; !signal.aborted; sent++) {
    await connection.ask(await (cases[sent % cases.length] as Case).request())
    if (pauseMs > 0) await Bun.sleep(pauseMs)
  }
}

async function downloadUsers({ port }: Side, cookie: string, signal: AbortSignal) {
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  const url = `http://127.0.0.1:${port}/console/api/people/export.csv`
  const reply = await fetch(url, { headers, signal })
  if (!reply.ok) throw new Error(`the download was answered with ${reply.status}`)
  // Aborting ends the download with an error.
  await reply.body?.pipeTo(new WritableStream()).catch(() => {})
}

async function runUntil(signal: AbortSignal, { dataDir }: Side, args: string[]) {
  const command = [EXECUTABLE, ...args, '--data-dir', dataDir]
  await Bun.spawn(command, { stdio: ['ignore', 'ignore', 'ignore'], signal }).exited
}
