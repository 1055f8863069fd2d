import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PASSWORD, WEBHOOK_TOKEN } from './app.ts'
import type { PostgresServer } from './postgres-server.ts'

type Reply = { status: number; json: unknown }

/** Names are increasing numbers: `known` is the last acknowledged one, `sent` the last one sent. */
type LoadUser = { token: string; known: number; sent: number }

/** In ms. A request that takes longer counts as hanging. */
const REQUEST_TIMEOUT = 60_000

/**
 * Sends reads and writes of every kind from `clients` concurrent clients to random `urls`, until stopped.
 * `problems` collects incorrect responses, and those other than 200 and 503.
 */
export async function startMixedLoad(urls: string[], clients: number) {
  const acknowledged = { events: [] as string[], emails: [] as string[], keys: [] as string[] }
  const names = new Map<string, LoadUser>()
  const seen = {
    ok: 0,
    unavailable: 0,
    unreachable: 0,
    longest: 0,
    lastFailureAt: 0,
    lastFailure: '',
  }
  const problems: string[] = []
  const run = crypto.randomUUID().slice(0, 8)
  let isOver = false
  for (let at = 0; at < clients / 8; at++) await addUser(`${run}-user-${at}@example.com`)
  const startedAt = performance.now()
  const allClients = Promise.all(Array.from({ length: clients }, (_, at) => repeat(at)))
  return { acknowledged, names, seen, problems, stop }

  async function stop() {
    isOver = true
    await allClients
    const seconds = (performance.now() - startedAt) / 1000
    return `${Math.round(seen.ok / seconds)} per second, ${seen.ok} answered, ${seen.unavailable} refused, ${seen.unreachable} unreachable, longest ${Math.round(seen.longest)} ms`
  }

  async function repeat(client: number) {
    const work = [deliver, deliver, deliver, readSettings, rename, readName, upload, deliver]
    // Password hashing uses all cores, so only one client registers users.
    const kind = client === 0 ? register : (work[client % work.length] ?? deliver)
    for (let count = 0; !isOver; count++) {
      const isAnswered = await kind(`${run}-${client}-${count}`, client)
      if (!isAnswered) await Bun.sleep(100)
    }
  }

  async function deliver(id: string) {
    const event = { id, type: 'TEST', event_timestamp_ms: 1_783_000_000_000 }
    const reply = await post('/api/webhooks/billing/v1', { event }, WEBHOOK_TOKEN)
    return succeeded(reply, 'delivery', () => {
      acknowledged.events.push(id)
      // Unacknowledged events are never repeated here.
      if ((reply.json as { code: string }).code === 'duplicate')
        problems.push(`${id} is a duplicate`)
    })
  }

  async function readSettings() {
    const reply = await ask('GET', '/api/user/app_settings/v1')
    return succeeded(reply, 'settings', () => {})
  }

  async function register(id: string) {
    const email = `${id}@example.com`
    const reply = await post('/api/auth/register/v1', { email, password: PASSWORD })
    return succeeded(reply, 'registration', () => acknowledged.emails.push(email))
  }

  async function rename(_id: string, client: number) {
    const user = userOf(client)
    const name = ++user.sent
    const body = { profile: { name: String(name) } }
    const reply = await ask('PATCH', '/api/user/profile/v1', user.token, body)
    return succeeded(reply, 'renaming', () => {
      user.known = name
    })
  }

  /** Any name sent since the last acknowledged one is possible. */
  async function readName(_id: string, client: number) {
    const user = userOf(client)
    const { known } = user
    const reply = await ask('GET', '/api/user/profile/v1', user.token)
    return succeeded(reply, 'profile', () => {
      const { name } = (reply.json as { response: { profile: { name: string } } }).response.profile
      if (Number(name) < known || Number(name) > user.sent)
        problems.push(`profile has ${name}, expected ${known} to ${user.sent}`)
    })
  }

  /** A failed upload is retried with the same idempotency key, as the client does. */
  async function upload(id: string, client: number) {
    const { token } = userOf(client)
    for (let tries = 0; !isOver && tries < 10; tries++) {
      const reply = await ask('POST', '/api/user/attachments/v1?type=supportTicket', token, id, {
        'content-type': 'text/plain',
        'idempotency-key': id,
      })
      const isStored = succeeded(reply, 'upload', () => {
        const [file] = (reply.json as { response: { key: string }[] }).response
        acknowledged.keys.push(file?.key ?? '')
      })
      if (isStored) return true
      await Bun.sleep(200)
    }
    return false
  }

  /** Each user is shared by eight clients, one of which renames it. */
  function userOf(client: number): LoadUser {
    return [...names.values()][Math.floor(client / 8)] as LoadUser
  }

  async function addUser(email: string) {
    const reply = await post('/api/auth/register/v1', { email, password: PASSWORD })
    const { accessToken: token } = (reply.json as { response: { accessToken: string } }).response
    await ask('PATCH', '/api/user/profile/v1', token, { profile: { name: '0' } })
    names.set(email, { token, known: 0, sent: 0 })
    acknowledged.emails.push(email)
  }

  function succeeded({ status, json }: Reply, operation: string, then: () => void): boolean {
    if (status === 200) {
      seen.ok++
      then()
      return true
    }
    seen.lastFailureAt = performance.now()
    seen.lastFailure = operation
    if (status === 503) seen.unavailable++
    else if (status === 0) seen.unreachable++
    else problems.push(`${operation} got ${status} ${JSON.stringify(json)}`)
    return false
  }

  function post(path: string, body: unknown, token?: string) {
    return ask('POST', path, token, body)
  }

  async function ask(
    method: string,
    path: string,
    token?: string,
    body?: unknown,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ): Promise<Reply> {
    const start = performance.now()
    const url = urls[Math.floor(Math.random() * urls.length)]
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const reply = await fetch(url + path, {
      method,
      headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      signal: AbortSignal.timeout(REQUEST_TIMEOUT),
      ...(body === undefined ? {} : { body: text }),
    })
      .then(async (found) => ({ status: found.status, json: await found.json() }))
      .catch((error: Error) => {
        if (error.name === 'TimeoutError') problems.push(`${method} ${path} hangs`)
        return { status: 0, json: null }
      })
    seen.longest = Math.max(seen.longest, performance.now() - start)
    return reply
  }
}

type Load = Awaited<ReturnType<typeof startMixedLoad>>

/** Acknowledged writes that are missing from the database at `url` or from the folder of files. */
export async function findLostWrites(
  { acknowledged, names }: Load,
  { query }: PostgresServer,
  url: string,
  filesDir: string,
) {
  const column = async (sql: string) =>
    new Set((await query(sql, url)).map((row) => Object.values(row)[0]))
  const [events, emails, keys] = [
    await column('SELECT event_id FROM billing_events'),
    await column('SELECT email FROM users'),
    await column('SELECT key FROM attachments'),
  ]
  const isStored = (key: unknown) =>
    existsSync(join(filesDir, String(key).slice(0, 1), String(key)))
  const profiles = await query('SELECT email, name FROM users', url)
  return {
    events: acknowledged.events.filter((id) => !events.has(id)),
    emails: acknowledged.emails.filter((email) => !emails.has(email)),
    keys: acknowledged.keys.filter((key) => !keys.has(key) || !isStored(key)),
    rowsWithoutFile: [...keys].filter((key) => !isStored(key)),
    names: profiles.flatMap(({ email, name }) => {
      const user = names.get(String(email))
      const isPossible = !user || (Number(name) >= user.known && Number(name) <= user.sent)
      return isPossible ? [] : [`${name}, expected ${user.known} to ${user.sent}`]
    }),
  }
}
