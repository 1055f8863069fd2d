import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { SCENARIOS } from './scenarios/all.ts'
import { type Received, type ScriptedServer, startServer } from './server.ts'
import type { Json, JsonRecord, Scenario, SentMatch, Step } from './types.ts'

/** Real time: how long an answer, an event or a request may take. */
const ANSWER_MS = 15_000
const POLL_MS = 3
const EXIT_AT_WRITE = 9

type Answer = { ok?: Json; error?: JsonRecord }
type Event = { event: string } & JsonRecord
export type Driver = ReturnType<typeof startDriver>
type WorldDeps = {
  scenario: Scenario
  command: string[]
  folder: string
  server: ScriptedServer
  pool: Driver[] | undefined
}

/**
 * Runs a scenario against a driver, which is started by `command`. Throws with the step that failed. `pool`: takes
 * processes from it and leaves them there, if the driver can begin anew with `create`.
 */
export async function runScenario(scenario: Scenario, command: string[], pool?: Driver[]) {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'))
  const server = await startServer(scenario.server)
  const world = createWorld({ scenario, command, folder, server, pool })
  try {
    for (const [at, step] of scenario.steps.entries()) {
      try {
        await world.perform(step)
      } catch (error) {
        const said = world.readErrors()
        const message = error instanceof Error ? error.message : String(error)
        throw new Error(`step ${at + 1}: ${JSON.stringify(step)}\n${message}${said && `\n${said}`}`)
      }
    }
  } finally {
    server.stop()
    await world.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The processes of one scenario, and what it has saved. */
function createWorld({ scenario, command, folder, server, pool }: WorldDeps) {
  const storage = join(folder, 'storage')
  const drivers = new Map<string, Driver>()
  const started = new Map<string, Promise<Answer>>()
  const ids = new Map<string, { driver: Driver; id: number }>()
  const saved: Record<string, Json> = {}
  let options: JsonRecord = scenario.options ?? {}
  let clockOffset = 0
  let seen = 0
  return {
    perform,
    readErrors: () => [...drivers.values()].map((driver) => driver.errors()).join(''),
    async stop() {
      for (const driver of drivers.values())
        if (pool && driver.isAlive()) pool.push(driver)
        else await driver.kill()
    },
  }

  async function open(name: string): Promise<Driver> {
    const reused = pool?.pop()
    const driver = reused ?? startDriver(command)
    drivers.set(name, driver)
    const now = server.now() + clockOffset
    await mkdir(storage, { recursive: true })
    const { error } = await driver.ask({
      do: 'create',
      ...{ baseUrl: server.url, folder: storage, now, options: fill(options) },
    })
    if (error) throw new Error(`create failed: ${JSON.stringify(error)}`)
    reused?.reset()
    return driver
  }

  async function order(driver: Driver, message: JsonRecord) {
    const { error } = await driver.ask(message)
    if (error) throw new Error(`${message['do']} failed: ${JSON.stringify(error)}`)
  }

  async function perform(step: Step): Promise<void> {
    const name = step.in ?? 'first'
    const driver = drivers.get(name) ?? (await open(name))
    if ('call' in step) {
      const { call: fn, timeout } = step
      const args = await writeFiles(fill(step.with ?? {}) as JsonRecord)
      const { id, answer } = driver.send({ do: 'call', fn, args, timeout })
      if ('start' in step) {
        started.set(step.start, answer)
        ids.set(step.start, { driver, id })
        return
      }
      return check(step, await within(answer, `${fn} does not end`))
    }
    if ('wait' in step) {
      const answer = started.get(step.wait)
      if (!answer) throw new Error(`nothing is started as ${step.wait}`)
      return check(step, await within(answer, `${step.wait} does not end`))
    }
    if ('cancel' in step) {
      const { driver, id } = ids.get(step.cancel) ?? {}
      if (!driver) throw new Error(`nothing is started as ${step.cancel}`)
      return order(driver, { do: 'cancel', call: id })
    }
    if ('timer' in step) {
      const due = await driver.takeTimer(step.timer)
      return advance(Math.max(0, due - driver.elapsed()))
    }
    if ('advance' in step) return advance(step.advance)
    if ('setClock' in step) {
      clockOffset = step.setClock
      const now = server.now() + clockOffset
      for (const one of drivers.values()) await order(one, { do: 'setClock', now })
      return
    }
    if ('restart' in step) {
      await driver.kill()
      if (step.restart !== true) options = { ...options, ...step.restart }
      await open(name)
      return
    }
    if ('dieAtWrite' in step) return order(driver, { do: 'dieAtWrite', n: 1, ...step.dieAtWrite })
    if ('dies' in step) {
      const code = await within(driver.exited, 'the process does not end')
      return expectMatch(code, EXIT_AT_WRITE, 'exit code')
    }
    if ('failStorage' in step) return order(driver, { do: 'failStorage', on: step.failStorage })
    if ('stored' in step) {
      const isStored = async () => differences(parse(await readStored(step.stored)), fill(step.is))
      return eventually(isStored, `stored ${step.stored}`)
    }
    if ('edit' in step) return edit(step.edit, step.member, fill(step.value))
    if ('copy' in step) {
      saved[step.save] = await readStored(step.copy)
      return
    }
    if ('fault' in step) return server.addFault(fill(step.fault) as typeof step.fault)
    if ('repair' in step) return server.repair()
    if ('release' in step) return server.release(step.release)
    if ('holding' in step) {
      const { holding, count = 1 } = step
      return eventually(async () => {
        const held = server.countHeld(holding)
        return held >= count ? null : `${held} of ${count} requests are held`
      }, holding)
    }
    if ('sent' in step) return checkSent(step.sent)
    if ('counts' in step) return checkCounts(step.counts)
    if ('listen' in step) return order(driver, { do: 'listen', to: step.listen })
    if ('unlisten' in step) return order(driver, { do: 'unlisten', to: step.unlisten })
    if ('event' in step) {
      const found = await driver.takeEvent(step.event.event)
      return expectMatch(found, fill(step.event), 'event')
    }
    if ('noEvent' in step) {
      await driver.ask({ do: 'advance', ms: 0 })
      const found = driver.peekEvent(step.noEvent)
      if (found) throw new Error(`unexpected event ${JSON.stringify(found)}`)
      return
    }
    if ('progressed' in step) return checkProgress(driver.takeAll('progress'))
    const args = fill(step.args ?? []) as Json[]
    if (!('gives' in step)) {
      const result = await server.run(step.server, args)
      if (step.save !== undefined) saved[step.save] = result
      return
    }
    return eventually(
      async () => differences(await server.run(step.server, args), fill(step.gives)),
      step.server,
    )
  }

  async function advance(ms: number) {
    server.advance(ms)
    for (const driver of drivers.values())
      if (driver.isAlive()) await order(driver, { do: 'advance', ms })
  }

  function check(step: { gives?: Json; fails?: JsonRecord; save?: string }, answer: Answer) {
    const { ok, error } = answer
    if (step.fails) {
      if (!error) throw new Error(`succeeds with ${JSON.stringify(ok)}`)
      return expectMatch(error, fill(step.fails), 'error')
    }
    if (error) throw new Error(`fails with ${JSON.stringify(error)}`)
    if (step.save !== undefined) saved[step.save] = ok
    if ('gives' in step) expectMatch(ok, fill(step.gives), 'result')
  }

  async function checkSent(wanted: (string | SentMatch)[] | 'any') {
    if (wanted === 'any') {
      seen = server.requests.length
      return
    }
    const expected = wanted.map((one) => (typeof one === 'string' ? { request: one } : fill(one)))
    await eventually(async () => {
      const actual = server.requests.slice(seen)
      const list = () => actual.map(({ request }) => request).join(', ')
      return actual.length < expected.length ? `sent only: ${list()}` : null
    }, 'sent')
    const actual = server.requests.slice(seen)
    seen = server.requests.length
    expectMatch(actual.map(withAllHeaders(expected as SentMatch[])), expected, 'sent')
  }

  async function checkCounts(wanted: Record<string, number>) {
    const count = (list: Received[]) =>
      list.reduce<Record<string, number>>((all, { request }) => {
        all[request] = (all[request] ?? 0) + 1
        return all
      }, {})
    const total = Object.values(wanted).reduce((sum, one) => sum + one, 0)
    await eventually(async () => {
      const actual = server.requests.slice(seen)
      return actual.length < total ? `sent only: ${JSON.stringify(count(actual))}` : null
    }, 'counts')
    const actual = count(server.requests.slice(seen))
    seen = server.requests.length
    if (!Bun.deepEquals(actual, wanted))
      throw new Error(`sent ${JSON.stringify(actual)}, not ${JSON.stringify(wanted)}`)
  }

  async function readStored(key: string): Promise<string | null> {
    return readFile(join(storage, key), 'utf8').catch(() => null)
  }

  async function edit(key: string, member: string | undefined, value: Json) {
    const text = (await readStored(key)) ?? ''
    if (member === undefined) return writeFile(join(storage, key), String(value))
    const document = JSON.parse(text)
    const path = member.split('.')
    const last = path.pop() ?? ''
    const parent = path.reduce((at, part) => at[part], document)
    if (parent === undefined) throw new Error(`${key} has no ${member}: ${text}`)
    parent[last] = value
    return writeFile(join(storage, key), JSON.stringify(document))
  }

  /** Files with a `text` (or a `size`) become files on this machine with a `path`. */
  async function writeFiles(args: JsonRecord): Promise<JsonRecord> {
    if (!Array.isArray(args['files'])) return args
    const write = async ({ text, size, ...file }: JsonRecord) => {
      const path = join(folder, String(file['name']))
      if (text !== undefined || size !== undefined)
        await writeFile(path, String(text ?? 'x'.repeat(Number(size))))
      return { ...file, path }
    }
    return { ...args, files: await Promise.all((args['files'] as JsonRecord[]).map(write)) }
  }

  /** Replaces `$name.member` by what was saved. */
  function fill(value: Json): Json {
    if (typeof value === 'string') return fillText(value)
    if (Array.isArray(value)) return value.map(fill)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one)]))
  }

  function fillText(text: string): Json {
    const find = (path: string): Json => {
      const [name = '', ...members] = path.split('.')
      if (!(name in saved)) throw new Error(`nothing is saved as ${name}`)
      return members.reduce<Json>((at, member) => (at as JsonRecord | null)?.[member], saved[name])
    }
    const whole = /^\$(\w+(?:\.\w+)*)$/.exec(text)
    if (whole?.[1]) return find(whole[1])
    return text.replace(/\$(\w+(?:\.\w+)*)/g, (_text, path) => String(find(path)))
  }
}

/** Keeps only the headers that the scenario names, so that a failure can be read. */
function withAllHeaders(expected: SentMatch[]) {
  return ({ request, query, headers, body, files }: Received, at: number) => {
    const named = Object.keys(expected[at]?.headers ?? {})
    const own = Object.fromEntries(named.map((name) => [name, headers[name]]))
    return { request, query, headers: own, body, files }
  }
}

function checkProgress(events: Event[]) {
  const sent = events.map((one) => Number(one['sent']))
  const last = events.at(-1)
  const isRising = sent.every((one, at) => one >= (sent[at - 1] ?? 0))
  if (!last || !isRising || last['sent'] !== last['total'] || !(Number(last['total']) > 0))
    throw new Error(`not the progress of an upload: ${JSON.stringify(events)}`)
}

/** A process of a client. */
function startDriver(command: string[]) {
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
    const error = { code: 'exited', message: `the driver has ended with code ${code}` }
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
    /** Forgets what the last scenario has left. */
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

async function within<T>(promise: Promise<T>, message: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(message)), limitMs)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Waits until `check` returns null instead of what is wrong. */
async function eventually(check: () => Promise<string | null>, what: string) {
  const start = performance.now()
  for (;;) {
    const wrong = await check()
    if (wrong === null) return
    if (performance.now() - start > limitMs) throw new Error(`${what}: ${wrong}`)
    await Bun.sleep(POLL_MS)
  }
}

function parse(text: string | null): Json {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return text
  }
}

function expectMatch(actual: Json, expected: Json, what: string) {
  const wrong = differences(actual, expected, what)
  if (wrong !== null) throw new Error(wrong)
}

/** What differs from what is expected, as `Outcome` explains; null if nothing does. */
function differences(actual: Json, expected: Json, at = 'value'): string | null {
  const fail = () => `${at} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`
  if (expected === null || expected === undefined) return actual == null ? null : fail()
  if (typeof expected !== 'object') return Object.is(actual, expected) ? null : fail()
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return fail()
    return first(expected.map((one, index) => differences(actual[index], one, `${at}.${index}`)))
  }
  const { $any, $not, $matches, $length } = expected as JsonRecord
  if ($any === true) return actual == null ? fail() : null
  if ($not !== undefined) return differences(actual, $not) === null ? fail() : null
  if ($matches !== undefined)
    return typeof actual === 'string' && new RegExp(String($matches)).test(actual) ? null : fail()
  if ($length !== undefined)
    return Array.isArray(actual) && actual.length === $length ? null : fail()
  if (typeof actual !== 'object' || actual === null) return fail()
  const names = Object.keys(expected)
  return first(
    names.map((name) =>
      differences((actual as JsonRecord)[name], (expected as JsonRecord)[name], `${at}.${name}`),
    ),
  )
}

function first(wrongs: (string | null)[]): string | null {
  return wrongs.find((wrong) => wrong !== null) ?? null
}

let limitMs = ANSWER_MS

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      driver: { type: 'string', default: `bun ${join(import.meta.dir, 'driver.ts')}` },
      only: { type: 'string', default: '' },
      /** How many scenarios at a time. */
      at: { type: 'string', default: '2' },
      /** For drivers that can begin anew with `create`: one process for many scenarios. */
      reuse: { type: 'boolean', default: false },
      limit: { type: 'string', default: String(ANSWER_MS) },
    },
  })
  limitMs = Number(values.limit)
  const chosen = SCENARIOS.filter(({ name }) => name.includes(values.only))
  const command = values.driver.split(' ').filter((word) => word !== '')
  const failed: string[] = []
  const startedAt = performance.now()
  const queue = [...chosen]
  const pool = values.reuse ? [] : undefined
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const wrong = await runScenario(next, command, pool).then(() => null, String)
      console.log(`${wrong === null ? 'pass' : 'FAIL'}  ${next.name}`)
      if (wrong === null) continue
      failed.push(next.name)
      console.log(wrong.replace(/^/gm, '      '))
    }
  }
  await Promise.all(Array.from({ length: Number(values.at) }, work))
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`\n${chosen.length - failed.length} of ${chosen.length} passed in ${seconds} s`)
  for (const name of failed) console.log(`  failed: ${name}`)
  process.exit(failed.length === 0 ? 0 : 1)
}
