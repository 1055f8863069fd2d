import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { openData } from '../../src/cli/data/open-data.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/lib/log/log.ts'
import type { PasswordCost } from '../../src/lib/passwords/argon2.ts'
import type { Backups } from '../../src/operations/console/backups.ts'
import { createApp } from '../../src/server/app.ts'
import type { FeatureOverrides } from '../../src/server/features.ts'
import { createTestDatabase, isOnPostgres, type TestDatabase } from './databases.ts'
import { createLogLines } from './log-lines.ts'
import { sealingClient } from './sealing.ts'

export const WEBHOOK_TOKEN = 'test-webhook-token-0123'
export const PASSWORD = 'correct horse battery'
/** Tests create hundreds of accounts; one test covers the real cost. */
const CHEAP_HASHING: PasswordCost = { memoryCost: 64, timeCost: 1 }

export type Ask = {
  token?: string
  json?: unknown
  body?: Bun.BodyInit
  headers?: Record<string, string>
}

// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
export type Answer = { status: number; headers: Pick<Headers, 'get'>; text: string; json: any }

/** How requests are sent: plain, or sealed the way the client seals them. */
export type Mode = 'plain' | 'sealed'

type TestAppOptions = FeatureOverrides & {
  passwordCost?: PasswordCost
  passwordQueueLimit?: number
  mode?: Mode
  /** The backups that the console shows. */
  backups?: Backups
  /** The database and clock shared with another instance; the caller disposes of them. */
  shared?: { database: TestDatabase; clock: Clock }
  /** An existing data directory, which is migrated, and removed at the end. */
  dataDir?: string
}

export type Clock = { now: Date; advance: (ms: number) => void }

export type TestApp = Awaited<ReturnType<typeof createTestApp>>

let template: Promise<Map<string, Uint8Array>> | null = null

/** The files of a data directory after the first start. Each test gets a copy. */
async function makeTemplate(): Promise<Map<string, Uint8Array>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'homeport-template-'))
  const config = readConfig({}, { DATA_DIR: dataDir, RATES_PROVIDER: 'off', MIN_FREE_BYTES: '0' })
  await (await openData(config, createLog('error')))[Symbol.asyncDispose]()
  const files = new Map<string, Uint8Array>()
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
    // The write-ahead log is empty after a clean shutdown.
    if (!entry.isFile() || /-(wal|shm)$/.test(entry.name)) continue
    const path = join(entry.parentPath, entry.name)
    files.set(relative(dataDir, path), await Bun.file(path).bytes())
  }
  await rm(dataDir, { recursive: true })
  return files
}

async function copyTemplate(dataDir: string) {
  template ??= makeTemplate()
  for (const [name, bytes] of await template) await Bun.write(join(dataDir, name), bytes)
}

/**
 * The whole application on its own data directory, with a clock that tests control. A test that
 * logs an error fails, unless it has called `expectErrors`.
 */
export async function createTestApp(
  environment: Record<string, string> = {},
  { mode = 'plain', shared, dataDir: existing, ...rest }: TestAppOptions = {},
) {
  const database = shared?.database ?? (await createTestDatabase())
  const dataDir = existing ?? (await mkdtemp(join(tmpdir(), 'homeport-test-')))
  if (!isOnPostgres && !existing) await copyTemplate(dataDir)
  const output = createLogLines()
  const { lines } = output
  const clock = shared?.clock ?? createClock()
  let errorsExpected = false
  const config = readConfig(
    {},
    {
      DATA_DIR: dataDir,
      WEBHOOK_TOKEN,
      RATES_PROVIDER: 'off',
      MIN_FREE_BYTES: '0',
      ...database.environment,
      ...environment,
    },
  )
  const log = createLog(config.logLevel, output)
  let data = await open()
  const send = sealingClient(
    (request) => opened.app.handle(request),
    () => clock.now.getTime(),
  )
  const opened = {
    app: createApp(data.services),
    services: data.services,
    dataDir,
    clock,
    lines,
    logged: output.logged,
    ask,
    register,
    verifyEmail,
    expectErrors,
    restart,
    [Symbol.asyncDispose]: dispose,
  }
  return opened

  function open() {
    const overrides = { now: () => clock.now, passwordCost: CHEAP_HASHING, ...rest }
    return openData(config, log, overrides, { schema: existing ? 'migrate' : 'create' })
  }

  /** Stops the services and starts them again, as a new process would with the stored data and the `changed` settings. */
  async function restart(changed: Partial<typeof config> = {}) {
    await data[Symbol.asyncDispose]()
    Object.assign(config, changed)
    data = await open()
    Object.assign(opened, { app: createApp(data.services), services: data.services })
  }

  async function ask(method: string, path: string, options: Ask = {}): Promise<Answer> {
    const { token, json, body = json === undefined ? undefined : JSON.stringify(json) } = options
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body }),
    })
    // A request with an explicit env header is sent unchanged.
    const isSealed = mode === 'sealed' && options.headers?.['env'] === undefined
    const { status, headers, text } = await (isSealed ? send(request) : sendPlain(request))
    const isJson = headers.get('content-type')?.startsWith('application/json')
    return { status, headers, text, json: isJson && text !== '' ? JSON.parse(text) : null }
  }

  async function sendPlain(request: Request) {
    const response = await opened.app.handle(request)
    const { status, headers } = response
    return { status, headers, text: await response.clone().text() }
  }

  /** Creates an account and returns its session. */
  async function register(email = `${crypto.randomUUID()}@example.com`, headers = {}) {
    const { json } = await ask('POST', '/api/auth/register/v1', {
      json: { email, password: PASSWORD },
      headers,
    })
    return json.response as {
      accessToken: string
      refreshToken: string
      user: { _id: string; email: string; profile: Record<string, unknown> }
    }
  }

  /** Marks the address of an account as verified. */
  async function verifyEmail(email: string) {
    const { directory } = opened.services.users
    await directory.setEmailVerified(await directory.find(email), true)
  }

  function expectErrors() {
    errorsExpected = true
  }

  async function dispose() {
    await data[Symbol.asyncDispose]()
    if (!shared) await database[Symbol.asyncDispose]()
    await rm(dataDir, { recursive: true, force: true })
    const errors = lines.filter((line) => /"level":"(error|fatal)"/.test(line))
    if (errors.length > 0 && !errorsExpected) throw new Error(`logged: ${errors.join('')}`)
  }
}

/** A clock that tests control. */
export function createClock(): Clock {
  const clock = { now: new Date(), advance }
  return clock

  function advance(ms: number) {
    clock.now = new Date(clock.now.getTime() + ms)
  }
}
