import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import {
  ApiError,
  type AppSettings,
  type Client,
  type ClientOptions,
  type CurrencyRates,
  createClient,
  findRate,
  type InstalledApp,
  isUpdateAvailable,
  isUpdateRequired,
  type Storage,
} from '../../../src/client/client.ts'
import { open, seal } from './driver-sealing.ts'
import type { Answer, Command, DriverEvent, Listened } from './protocol.ts'

type Args = Record<string, unknown>
type Create = Extract<Command, { do: 'create' }>

/** Functions of the client without input: their first parameter is the options. */
const WITHOUT_INPUT = new Set([
  'accessToken',
  'deleteProfile',
  'exportData',
  'isSignedIn',
  'listPasskeys',
  'listSessions',
  'logout',
  'readAppSettings',
  'readContentVersions',
  'readCurrencyRates',
  'readData',
  'readProfile',
  'readUsage',
  'refresh',
  'resendVerification',
  'startAsGuest',
  'startPasskeySignIn',
])

type Timer = { due: number; order: number; run: () => void }

/** Virtual time: only the command `advance` moves `elapsed`. */
const timers = new Map<number, Timer>()
let elapsed = 0
let clockAtZero = 0
let count = 0

const calls = new Map<number, AbortController>()
/** The requests of this scenario. */
const requests = new Set<AbortController>()
const listeners = new Map<string, () => void>()
let failing = 'none'
let death: { key: string; when: string; n: number } | null = null
let client: Client
let installed: InstalledApp

Object.assign(globalThis, {
  setTimeout: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const id = ++count
    timers.set(id, { due: elapsed + ms, order: id, run: () => run(...args) })
    emit({ event: 'timer', ms })
    return id
  },
  clearTimeout: (id: number) => void timers.delete(id),
})
Math.random = () => 0.5
performance.now = () => elapsed

createInterface({ input: process.stdin })
  .on('line', (line) => void (line.trim() === '' || handle(JSON.parse(line) as Command)))
  .on('close', () => process.exit(0))

async function handle(command: Command) {
  const { id } = command
  try {
    emit({ id, ok: (await perform(command)) ?? null })
  } catch (error) {
    emit({ id, error: describe(error) })
  }
}

function describe(error: unknown) {
  if (!(error instanceof ApiError)) return { status: 0, code: 'exception', message: String(error) }
  const { status, code, message, details, requestId, retryAfter } = error
  return { status, code, message, details, requestId, retryAfter }
}

async function perform(command: Command): Promise<unknown> {
  switch (command.do) {
    case 'create':
      return create(command)
    case 'call':
      return call(command)
    case 'cancel':
      return calls.get(command.call)?.abort()
    case 'advance':
      return advance(command.ms)
    case 'setClock':
      clockAtZero = command.now - elapsed
      return true
    case 'listen':
      return listen(command.to)
    case 'unlisten':
      return listeners.get(command.to)?.()
    case 'failStorage':
      failing = command.on
      return true
    case 'dieAtWrite':
      death = { key: command.key, when: command.when, n: command.n }
      return true
    case 'seal':
      return seal(command)
    case 'open':
      return open(command)
  }
}

async function create({ baseUrl, folder, now, options }: Create) {
  await endLastScenario()
  clockAtZero = now
  const { deviceId, version = '1.0.0', buildNumber, platform = 'ios', ...rest } = options
  installed = { platform: platform as 'ios', version, buildNumber }
  client = createClient({
    ...rest,
    baseUrl,
    app: { ...installed, deviceId },
    storage: openFolder(folder),
    now: () => clockAtZero + elapsed,
    onSignedOut: () => emit({ event: 'signedOut' }),
    fetch: sendRequest,
  } satisfies ClientOptions)
  return true
}

/** One process runs several scenarios in a row, to save startup time. */
async function endLastScenario() {
  for (const stop of listeners.values()) stop()
  for (const controller of [...calls.values(), ...requests]) controller.abort()
  listeners.clear()
  requests.clear()
  await settle()
  timers.clear()
  elapsed = 0
  failing = 'none'
  death = null
}

function sendRequest(url: string, init: RequestInit = {}): Promise<Response> {
  const controller = new AbortController()
  requests.add(controller)
  const signals = [controller.signal, ...(init.signal ? [init.signal] : [])]
  return sendReportingProgress(url, { ...init, signal: AbortSignal.any(signals) })
}

/** Bun's own `fetch` cannot report the progress of an upload. */
async function sendReportingProgress(url: string, init: RequestInit): Promise<Response> {
  const { onProgress } = init as { onProgress?: (progress: object) => void }
  if (!onProgress) return fetch(url, init)
  const encoded = new Response(init.body ?? null)
  const body = await encoded.arrayBuffer()
  const type = encoded.headers.get('content-type')
  const headers = { ...(init.headers as object), ...(type ? { 'content-type': type } : {}) }
  const total = body.byteLength
  for (const sent of [Math.floor(total / 2), total]) onProgress({ sent, total })
  return fetch(url, { ...init, body, headers } as RequestInit)
}

function call({ id, fn, args, timeout }: Extract<Command, { do: 'call' }>): Promise<unknown> {
  const controller = new AbortController()
  calls.set(id, controller)
  const options = {
    signal: controller.signal,
    ...(timeout === undefined ? {} : { timeout }),
  }
  return run(fn, args, options).finally(() => calls.delete(id))
}

async function run(fn: string, args: Args, options: object): Promise<unknown> {
  const { name, lang, data, version, settings, purchase } = args
  if (fn === 'readKept') {
    const input = lang === undefined ? {} : { lang: lang as string }
    const { refreshed, ...kept } = await client.readKept(name as 'profile', input, options)
    refreshed.catch(() => {})
    return kept
  }
  if (fn === 'replaceData' || fn === 'patchData')
    return client[fn](data as Args, version === undefined ? {} : { version: String(version) })
  if (fn === 'uploadAttachments') return client.uploadAttachments(toUpload(args), options)
  if (fn === 'findRate') return findRate(args['rates'] as CurrencyRates, args['currency'] as string)
  if (fn === 'isUpdateRequired') return isUpdateRequired(settings as AppSettings, installed)
  if (fn === 'isUpdateAvailable') return isUpdateAvailable(settings as AppSettings, installed)
  const found = (client as Record<string, unknown>)[fn] as (...args: unknown[]) => unknown
  if (typeof found !== 'function') throw new TypeError(`The client has no function ${fn}.`)
  if (fn === 'queuePurchase') return found(purchase)
  return WITHOUT_INPUT.has(fn) ? found(options) : found(args, options)
}

function toUpload({ files, ...rest }: Args): Parameters<Client['uploadAttachments']>[0] {
  const read = ({ name, type, path }: Record<string, string>) => ({
    name: name ?? '',
    type,
    data: openFile(path ?? ''),
  })
  return {
    ...(rest as { type: 'supportTicket' }),
    files: (files as Record<string, string>[]).map(read),
    onProgress: (progress) => emit({ event: 'progress', ...progress }),
  }
}

/** An unreadable file fails like a browser's: when the client reads it. */
function openFile(path: string): Uint8Array | Blob {
  try {
    return new Uint8Array(readFileSync(path))
  } catch (error) {
    return { arrayBuffer: () => Promise.reject(error) } as Blob
  }
}

/** Fires due timers in order; the work of each timer runs before the next one fires. */
async function advance(ms: number) {
  const end = elapsed + ms
  for (;;) {
    const [next] = [...timers]
      .filter(([, { due }]) => due <= end)
      .sort(([, a], [, b]) => a.due - b.due || a.order - b.order)
    if (!next) break
    const [id, timer] = next
    timers.delete(id)
    elapsed = Math.max(elapsed, timer.due)
    timer.run()
    await settle()
  }
  elapsed = end
  await settle()
  return true
}

async function settle() {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function listen(to: Listened) {
  const start = {
    authChange: () => client.onAuthChange((change) => emit({ event: 'authChange', ...change })),
    change: () => client.onChange((change) => emit({ event: 'change', ...change })),
    purchaseResult: () =>
      client.onPurchaseResult((result) => emit({ event: 'purchaseResult', ...result })),
  }[to]
  listeners.set(to, start())
  return true
}

/** One file per key, replaced atomically. */
function openFolder(folder: string): Storage {
  mkdirSync(folder, { recursive: true })
  const check = (operation: string) => {
    if (failing === operation) throw new Error('The device is locked.')
  }
  return {
    async getItem(key) {
      check('read')
      try {
        return readFileSync(join(folder, key), 'utf8')
      } catch (error) {
        if ((error as { code?: string }).code === 'ENOENT') return null
        throw error
      }
    },
    async setItem(key, value) {
      check('write')
      const isLast = death?.key === key && --death.n === 0
      if (isLast && death?.when === 'before') process.exit(9)
      writeFileSync(join(folder, `${key}.new`), value)
      renameSync(join(folder, `${key}.new`), join(folder, key))
      if (isLast) process.exit(9)
    },
    async removeItem(key) {
      check('write')
      rmSync(join(folder, key), { force: true })
    },
  }
}

function emit(line: DriverEvent | Answer) {
  writeSync(1, `${JSON.stringify(line)}\n`)
}
