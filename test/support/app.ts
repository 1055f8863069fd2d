import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { openData } from '../../src/cli/data.ts'
import { readConfig } from '../../src/config.ts'
import type { IdentityProviders } from '../../src/features/auth/identity-providers.ts'
import { createLog } from '../../src/lib/log.ts'

export const WEBHOOK_TOKEN = 'test-webhook-token-0123'
export const PASSWORD = 'correct horse battery'

export type Ask = {
  token?: string
  json?: unknown
  body?: Bun.BodyInit
  headers?: Record<string, string>
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into replies of every shape
export type Answer = { status: number; headers: Headers; text: string; json: any }

export type TestApp = Awaited<ReturnType<typeof createTestApp>>

/**
 * The whole application on a data directory of its own, with a clock that tests move. A test that
 * leaves an error in the log fails, unless it has called `expectErrors`.
 */
export async function createTestApp(
  environment: Record<string, string> = {},
  world: { providers?: IdentityProviders; appleUrl?: string } = {},
) {
  const dataDir = await mkdtemp(join(tmpdir(), 'homeport-test-'))
  const lines: string[] = []
  const clock = { now: new Date(), advance }
  let errorsExpected = false
  const log = createLog('info', { write: (line) => lines.push(line) })
  const config = readConfig(
    {},
    {
      DATA_DIR: dataDir,
      WEBHOOK_TOKEN,
      RATES_PROVIDER: 'off',
      MIN_FREE_BYTES: '0',
      ...environment,
    },
  )
  const data = await openData(config, log, { now: () => clock.now, ...world })
  const app = createApp(data.services)
  return {
    app,
    services: data.services,
    dataDir,
    clock,
    lines,
    ask,
    register,
    expectErrors,
    [Symbol.asyncDispose]: dispose,
  }

  async function ask(method: string, path: string, how: Ask = {}): Promise<Answer> {
    const { token, json, body = json === undefined ? undefined : JSON.stringify(json) } = how
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...how.headers,
      },
      ...(body === undefined ? {} : { body }),
    })
    const response = await app.handle(request)
    const text = await response.clone().text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    const { status, headers } = response
    return { status, headers, text, json: isJson && text !== '' ? JSON.parse(text) : null }
  }

  /** Makes an account and answers its session. */
  async function register(email = `${crypto.randomUUID()}@example.com`, headers = {}) {
    const { json } = await ask('POST', '/api/auth/register/v1', {
      json: { email, password: PASSWORD },
      headers,
    })
    return json.response as {
      accessToken: string
      refreshToken: string
      user: { _id: string; email: string }
    }
  }

  function advance(ms: number) {
    clock.now = new Date(clock.now.getTime() + ms)
  }

  function expectErrors() {
    errorsExpected = true
  }

  async function dispose() {
    await data[Symbol.asyncDispose]()
    await rm(dataDir, { recursive: true, force: true })
    const errors = lines.filter((line) => /"level":"(error|fatal)"/.test(line))
    if (errors.length > 0 && !errorsExpected) throw new Error(`logged: ${errors.join('')}`)
  }
}
