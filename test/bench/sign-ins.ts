import { median } from './median.ts'
import { ask, PASSWORD } from './mixed/client.ts'
import { ROUNDS, SECONDS } from './rounds.ts'
import { startHomeport } from './servers.ts'

const PORT = 4795
const SIGN_INS = 300
const MAX_LONGEST_MS = 3_000
const WRONG_PER_SECOND = 50
const MAX_RATIO = 1.2
const RIGHT = { email: 'bench@example.com', password: PASSWORD }
const WRONG = { ...RIGHT, password: 'a wrong password' }

type Session = { refreshToken: string }

/** Concurrent sign-ins, and refreshes during a flood of wrong passwords. */
export async function benchSignIns(dataDir: string) {
  const server = await startHomeport(dataDir, PORT)
  const longest: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const times = await Promise.all(Array.from({ length: SIGN_INS }, timeSignIn))
    if (round > 0) longest.push(Math.max(...times))
  }
  let { refreshToken } = await post<Session>('login', RIGHT)
  const rounds: { alone: number; beside: number }[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const alone = await timeRefreshes()
    const stopFlood = startFlood()
    const beside = await timeRefreshes()
    await stopFlood()
    if (round > 0) rounds.push({ alone, beside })
  }
  const ratio = median(rounds.map(({ alone, beside }) => beside / alone))
  const [alone, beside] = [
    median(rounds.map((round) => round.alone)),
    median(rounds.map((round) => round.beside)),
  ]
  console.log(
    `${SIGN_INS} sign-ins at once: the longest ${median(longest).toFixed(0)} ms (goal ${MAX_LONGEST_MS})`,
  )
  console.log(
    `refreshes beside ${WRONG_PER_SECOND} wrong passwords per second: ${ratio.toFixed(2)} times as long (goal ${MAX_RATIO}) — ${beside.toFixed(2)} ms against ${alone.toFixed(2)} ms`,
  )
  await server.stop()

  /** The median time of consecutive refreshes, in ms. */
  async function timeRefreshes(): Promise<number> {
    const times: number[] = []
    for (const end = performance.now() + SECONDS * 1000; performance.now() < end; ) {
      const start = performance.now()
      const session = await post<Session>('refresh', { refreshToken })
      times.push(performance.now() - start)
      refreshToken = session.refreshToken
    }
    return median(times)
  }
}

/** The duration of a sign-in, in ms. */
async function timeSignIn(): Promise<number> {
  const start = performance.now()
  await post('login', RIGHT)
  return performance.now() - start
}

/** Returns a function that stops the flood and waits for its last response. */
function startFlood(): () => Promise<unknown> {
  const replies: Promise<unknown>[] = []
  const timer = setInterval(() => replies.push(post('login', WRONG, 401)), 1000 / WRONG_PER_SECOND)
  return () => {
    clearInterval(timer)
    return Promise.all(replies)
  }
}

async function post<T>(path: string, json: object, expected = 200): Promise<T> {
  const options = { json, expected }
  return (await ask<{ response: T }>(PORT, 'POST', `/api/auth/${path}/v1`, options)).response
}
