import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Answer,
  type Driver,
  type Event,
  eventually,
  startDriver,
  within,
} from './driver-process.ts'
import { differences, expectMatch } from './match.ts'
import type { Received, ScriptedServer } from './server.ts'
import type { Json, JsonRecord, Scenario, SentMatch, Step } from './types.ts'

const EXIT_AT_WRITE = 9

type WorldDeps = {
  scenario: Scenario
  command: string[]
  folder: string
  server: ScriptedServer
  pool: Driver[] | undefined
}

/** The processes of one scenario, and the values that it has saved. */
export function createWorld({ scenario, command, folder, server, pool }: WorldDeps) {
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

  async function send(driver: Driver, message: JsonRecord) {
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
      if (!answer) throw new Error(`no started call is named ${step.wait}`)
      return check(step, await within(answer, `${step.wait} does not end`))
    }
    if ('cancel' in step) {
      const { driver, id } = ids.get(step.cancel) ?? {}
      if (!driver) throw new Error(`no started call is named ${step.cancel}`)
      return send(driver, { do: 'cancel', call: id })
    }
    if ('timer' in step) {
      const due = await driver.takeTimer(step.timer)
      return advance(Math.max(0, due - driver.elapsed()))
    }
    if ('advance' in step) return advance(step.advance)
    if ('setClock' in step) {
      clockOffset = step.setClock
      const now = server.now() + clockOffset
      for (const one of drivers.values()) await send(one, { do: 'setClock', now })
      return
    }
    if ('restart' in step) {
      await driver.kill()
      if (step.restart !== true) options = { ...options, ...step.restart }
      await open(name)
      return
    }
    if ('dieAtWrite' in step) return send(driver, { do: 'dieAtWrite', n: 1, ...step.dieAtWrite })
    if ('dies' in step) {
      const code = await within(driver.exited, 'the process does not end')
      return expectMatch(code, EXIT_AT_WRITE, 'exit code')
    }
    if ('failStorage' in step) return send(driver, { do: 'failStorage', on: step.failStorage })
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
    if ('listen' in step) return send(driver, { do: 'listen', to: step.listen })
    if ('unlisten' in step) return send(driver, { do: 'unlisten', to: step.unlisten })
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
      if (driver.isAlive()) await send(driver, { do: 'advance', ms })
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
    expectMatch(actual.map(withNamedHeaders(expected as SentMatch[])), expected, 'sent')
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

  /** Replaces `$name.member` with the saved value. */
  function fill(value: Json): Json {
    if (typeof value === 'string') return fillText(value)
    if (Array.isArray(value)) return value.map(fill)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one)]))
  }

  function fillText(text: string): Json {
    const find = (path: string): Json => {
      const [name = '', ...members] = path.split('.')
      if (!(name in saved)) throw new Error(`no saved value is named ${name}`)
      return members.reduce<Json>((at, member) => (at as JsonRecord | null)?.[member], saved[name])
    }
    const whole = /^\$(\w+(?:\.\w+)*)$/.exec(text)
    if (whole?.[1]) return find(whole[1])
    return text.replace(/\$(\w+(?:\.\w+)*)/g, (_text, path) => String(find(path)))
  }
}

/** Keeps only the headers that the scenario names, so that a failure is readable. */
function withNamedHeaders(expected: SentMatch[]) {
  return ({ request, query, headers, body, files }: Received, at: number) => {
    const names = Object.keys(expected[at]?.headers ?? {})
    const own = Object.fromEntries(names.map((name) => [name, headers[name]]))
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

function parse(text: string | null): Json {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return text
  }
}
