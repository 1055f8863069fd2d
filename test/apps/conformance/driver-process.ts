import { until } from '../../support/until.ts'
import type { Answer as Reply } from './protocol.ts'
import type { JsonRecord } from './types.ts'

/** Real time: how long an answer, an event or a request may take. */
export const limits = { answerMs: 15_000 }

export type Answer = Pick<Reply, 'ok' | 'error'>
export type Event = { event: string } & JsonRecord
export type Driver = ReturnType<typeof startDriver>

/** Starts the process of a client's driver. */
export function startDriver(command: string[]) {
  const process = Bun.spawn(command, { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' })
  const answers = new Map<number, (answer: Answer) => void>()
  const events: Event[] = []
  const timers: { ms: number; due: number }[] = []
  let elapsed = 0
  let errors = ''
  let lastId = 0
  let isAlive = true
  const reading = readLines(process.stdout, receive)
  void readLines(process.stderr, (line) => {
    errors += `${line}\n`
  })
  const exited = process.exited.then(async (code) => {
    isAlive = false
    await reading
    const error = { code: 'exited', message: `the driver exited with code ${code}` }
    for (const answer of answers.values()) answer({ error })
    return code
  })
  return {
    send,
    ask: (message: JsonRecord) => within(send(message).answer, `no answer to ${message['do']}`),
    takeTimer,
    takeEvent,
    takeAll: (name: string) => events.splice(0).filter(({ event }) => event === name),
    peekEvent: (name: string) => events.find(({ event }) => event === name),
    errors: () => errors.slice(-2_000),
    elapsed: () => elapsed,
    isAlive: () => isAlive,
    exited,
    async kill() {
      process.kill('SIGKILL')
      await exited
    },
    /** Discards the events and timers of the last scenario. */
    reset() {
      events.length = 0
      timers.length = 0
      elapsed = 0
    },
  }

  function send(message: JsonRecord): { id: number; answer: Promise<Answer> } {
    const id = ++lastId
    const { promise: answer, resolve } = Promise.withResolvers<Answer>()
    answers.set(id, resolve)
    process.stdin.write(`${JSON.stringify({ id, ...message })}\n`)
    void process.stdin.flush()
    if (message['do'] === 'advance') elapsed += Number(message['ms'])
    return { id, answer }
  }

  function receive(line: string) {
    if (!line.startsWith('{')) {
      errors += `${line}\n`
      return
    }
    const message = JSON.parse(line)
    if (message.event === 'timer') timers.push({ ms: message.ms, due: elapsed + message.ms })
    else if (message.event !== undefined) events.push(message)
    else {
      answers.get(message.id)?.(message)
      answers.delete(message.id)
    }
  }

  async function takeTimer(ms: number): Promise<number> {
    let due = 0
    await eventually(async () => {
      const at = timers.findIndex((one) => Math.abs(one.ms - ms) <= 1)
      due = timers[at]?.due ?? 0
      if (at >= 0) timers.splice(at, 1)
      return at >= 0 ? null : `timers: ${timers.map((one) => one.ms).join(', ')}`
    }, `a timer of ${ms} ms`)
    return due
  }

  async function takeEvent(name: string): Promise<Event> {
    let found: Event | undefined
    await eventually(async () => {
      const at = events.findIndex(({ event }) => event === name)
      if (at >= 0) [found] = events.splice(at, 1)
      return at >= 0 ? null : `events: ${JSON.stringify(events)}`
    }, `an event ${name}`)
    return found as Event
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, receive: (line: string) => void) {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') receive(line)
  }
}

export async function within<T>(promise: Promise<T>, message: string): Promise<T> {
  const signal = AbortSignal.timeout(limits.answerMs)
  const late = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error(message)))
  })
  return Promise.race([promise, late])
}

/** Waits until `check` returns null instead of a problem. */
export async function eventually(check: () => Promise<string | null>, what: string) {
  let wrong: string | null = null
  const isRight = async () => {
    wrong = await check()
    return wrong === null
  }
  await until(isRight, what, { deadlineMs: limits.answerMs }).catch((error) => {
    throw wrong === null ? error : new Error(`${what}: ${wrong}`)
  })
}
