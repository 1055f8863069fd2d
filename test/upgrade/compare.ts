import { expect } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resolveAliases } from '../../src/cli/aliases.ts'
import { dataCommands } from '../../src/cli/data-commands.ts'
import { UserExport } from '../../src/server/declarations.ts'
import { createClock, createTestApp, type TestApp } from '../support/app.ts'
import { runCommand } from '../support/commands.ts'
import type { TestDatabase } from '../support/databases.ts'
import { isFeatureLeftOut } from '../support/left-out.ts'
import { type Record, unpack } from './archive.ts'
import { BASE_URL, codeOf, PASSWORD, sha256, WEBHOOK_TOKEN } from './scenario.ts'

/** Early enough for the record's access tokens, and late enough for a new two-factor code. */
const LATER_MS = 60_000
/** Responses that may differ from those of versions up to `until`, with the reason. */
const CHANGED: { place: RegExp; until: number; reason: string }[] = [
  {
    place: /attachments\/v1\.\d+\.expiresAt$/,
    until: Infinity,
    reason: 'URLs have a new signature',
  },
  { place: /export.*billingEvents\.length$/, until: 5, reason: 'exports include transfers' },
  { place: /export.*devices\.\d\.\w+$/, until: 6, reason: 'the newest device comes first' },
  { place: /^api-keys list\.\d+\.lastUsedAt$/, until: Infinity, reason: 'uses count immediately' },
  { place: /profile\.timezone$/, until: 25, reason: 'time zones have IANA’s spelling' },
  { place: /yan.*export.*Events\.2\.body$/, until: 10, reason: 'exports hide other users’ ids' },
]
const ON_SQLITE: TestDatabase = { environment: {}, [Symbol.asyncDispose]: async () => {} }

export async function unpackArchive(name: string) {
  const dataDir = await mkdtemp(join(tmpdir(), 'homeport-upgrade-'))
  return { dataDir, record: await unpack(name, dataDir) }
}

/** Opens a data directory with today's code, a minute after its record was made. */
export async function openUpgraded(dataDir: string, record: Record, database = ON_SQLITE) {
  const clock = createClock()
  clock.now = new Date(Date.parse(record.at) + LATER_MS)
  return createTestApp({ BASE_URL, WEBHOOK_TOKEN }, { dataDir, shared: { database, clock } })
}

/** Lists where today's responses differ from the recorded ones, and what no longer works. */
export async function findDifferences(app: TestApp, record: Record): Promise<string[]> {
  const differences: string[] = []
  const tokens = new Map<string | null, string>([['key', record.apiKey ?? '']])
  for (const { user, accessToken } of record.sessions) tokens.set(user, accessToken)
  const documented = new Set(Object.keys((await app.ask('GET', '/docs/json')).json.paths))
  for (const { path, as, response } of record.answers) {
    const token = tokens.get(as)
    const answer = await app.ask('GET', path, token === undefined ? {} : { token })
    const place = `${as ?? 'public'} ${path}`
    // `interface.test.ts` names the routes that are missing.
    if (isFeatureLeftOut && !documented.has(path.split('?')[0] ?? '')) continue
    if (answer.status !== 200) differences.push(`${place}: ${answer.status}`)
    else compare(place, response, answer.json.response)
  }
  for (const { name, outcome } of record.commands) {
    if (isOfFeature(name)) compare(name, outcome, (await runCommand(app, name)).outcome)
  }
  for (const { path, sha256: expected } of record.files) {
    const reply = await app.app.handle(new Request(`http://localhost${path}`))
    if (sha256(await reply.bytes()) !== expected) differences.push(`${path}: other bytes`)
  }
  for (const { user, refreshToken } of record.sessions) {
    const reply = await app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
    const token = reply.json.response?.accessToken
    const { status } = await app.ask('GET', '/api/user/profile/v1', { token })
    if (status !== 200) differences.push(`${user}: ${status} after a refresh with ${reply.status}`)
  }
  return differences

  /** Fields in the record must be equal; today's response may have more. */
  function compare(place: string, before: unknown, now: unknown) {
    if (isObject(before) && isObject(now) && Array.isArray(before) === Array.isArray(now)) {
      const keys = Object.keys(before)
      if (Array.isArray(before)) compare(`${place}.length`, before.length, now['length'])
      for (const key of keys.filter((one) => isExported(place, one)))
        compare(`${place}.${key}`, before[key], now[key])
    } else if (
      !Object.is(withoutSignature(before), withoutSignature(now)) &&
      !CHANGED.some((change) => record.schemaVersion <= change.until && change.place.test(place))
    )
      differences.push(`${place}: ${JSON.stringify(before)} became ${JSON.stringify(now)}`)
  }
}

/** Signs in with the password and, if it was set up, the second factor. */
export async function signInAgain(app: TestApp, { twoFactor }: Record) {
  const json = { email: twoFactor?.email ?? 'zoe@example.com', password: PASSWORD }
  const first = await app.ask('POST', '/api/auth/login/v1', { json })
  expect(first.json.code).toBe(twoFactor ? 'two_factor_required' : 'ok')
  if (twoFactor === null) return
  const { challengeToken } = first.json.response
  const answer = { challengeToken, code: codeOf(twoFactor.secret, app.clock.now.getTime()) }
  const second = await app.ask('POST', '/api/auth/login/v1/two_factor', { json: answer })
  expect(second.status).toBe(200)
}

function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null
}

/** Each response has new signatures in the URLs of private files. */
function withoutSignature(value: unknown): unknown {
  return typeof value === 'string' && value.startsWith(BASE_URL) ? value.split('?')[0] : value
}

/** Whether there is a command with the same first word. A feature may have been left out. */
function isOfFeature(name: string): boolean {
  const [noun] = resolveAliases(name.split(' '))
  return !isFeatureLeftOut || dataCommands.some((command) => command.name.split(' ')[0] === noun)
}

/** Whether to expect a member of a response: the members of the export belong to features. */
function isExported(place: string, member: string): boolean {
  return (
    !isFeatureLeftOut || !/export\/v1$/.test(place) || Object.hasOwn(UserExport.properties, member)
  )
}
