import { beforeAll, expect, test } from 'bun:test'
import { randomFillSync } from 'node:crypto'
import { createClient } from '../../src/client/client.ts'
import { median } from '../bench/median.ts'
import { createTestApp, PASSWORD } from '../support/app.ts'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import {
  createSealer,
  type MessageParts,
  messagesFor,
  readKeyForPayloads,
} from '../support/messages.ts'
import { watchServer } from '../support/watch.ts'

beforeAll(buildExecutable, 300_000)

const PROFILE = '/api/user/profile/v1'
const QUIET = { LOG_LEVEL: 'warn', RATE_LIMITS: 'off' }

test(`messages with another algorithm or a forbidden header field are refused within 5 ms ${fault(125)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const { seal } = await sealerFor(server)
  const badHeaders: NonNullable<MessageParts['header']>[] = [
    { alg: 'PBES2-HS256+A128KW', p2c: 1e9, p2s: 'AAAAAAAAAAAAAAAAAAAAAA' },
    { p2c: 1e9 },
    { alg: 'RSA1_5' },
    { zip: 'DEF' },
    { jku: 'http://192.0.2.1/keys' },
    { x5u: 'http://192.0.2.1/chain' },
  ]
  for (const header of badHeaders) {
    const message = seal({ header })
    const times: number[] = []
    for (let at = 0; at < 50; at++) times.push(await timed(() => expectRefusal(server, message)))
    console.log(`125: ${JSON.stringify(header)}: ${median(times).toFixed(2)} ms`)
    expect(median(times)).toBeLessThan(5)
  }
}, 60_000)

test('a flood of sealed requests from one address stores at most 3,000 rows', async () => {
  await using app = await createTestApp()
  const { post, seal } = await messagesFor(app)
  const header = { cty: 'application/json' }
  const body = JSON.stringify({ email: 'nobody@example.com', password: 'wrong password' })
  const head = { htm: 'POST', htu: '/api/auth/login/v1' }
  const fail = () => post('POST', head.htu, seal({ head, header, body }))
  for (let at = 0; at < 3_000; at += 100) await Promise.all(Array.from({ length: 100 }, fail))
  const { db } = app.services
  expect(await db.read.$count(db.tables.sealedRequests)).toBe(3_000)
  const refused = await fail()
  expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await db.read.$count(db.tables.sealedRequests)).toBe(3_000)
}, 60_000)

test(`refusing a message takes the same time no matter what is wrong inside it ${fault(130)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const { seal } = await sealerFor(server)
  const kinds: Record<string, () => string> = {
    'a different tag': () => withChangedCharacter(seal({}), -1),
    'different content': () => withChangedCharacter(seal({}), -40),
    'a different nonce': () => withChangedCharacter(seal({}), seal({}).indexOf('..') + 4),
    'a different path': () => seal({ head: { htu: '/elsewhere' } }),
    'a different token': () => seal({ head: { ath: 'x' } }),
    'no head': () => seal({ plaintext: 'x' }),
    'a head with an extra field': () => seal({ head: { extra: 1 } }),
  }
  const times = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, [] as number[]]))
  for (let round = 0; round < 1_000; round++) {
    for (const [kind, make] of Object.entries(kinds)) {
      const message = make()
      times[kind]?.push(await timed(() => expectRefusal(server, message)))
    }
  }
  const medians = Object.entries(times).map(([kind, list]) => [kind, median(list)] as const)
  for (const [kind, ms] of medians) console.log(`130: ${kind}: ${ms.toFixed(3)} ms`)
  const figures = medians.map(([, ms]) => ms)
  // The requirement is 0.5 ms, but the whole decryption takes only a fifth of that.
  expect(Math.max(...figures) - Math.min(...figures)).toBeLessThan(0.05)
}, 120_000)

test(`sealed uploads of 10 MiB are stored; a gigabyte is refused; memory is bounded ${fault(131)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const client = createClient({ baseUrl: server.url, env: 'production' })
  await client.register({ email: 'ann@example.com', password: PASSWORD })
  const stopWatching = watchServer(server, async () => {}, 20)
  const data = randomFillSync(new Uint8Array(10 * 1024 * 1024))
  // Begins like a PDF, so that the upload is stored unchanged.
  data.set(new TextEncoder().encode('%PDF-1.7\n'))
  const upload = () =>
    client.uploadAttachments({ type: 'supportTicket', files: [{ name: 'a.pdf', data }] })
  const took = await timed(async () => expect(await upload()).toHaveLength(1))
  const many = await Promise.allSettled(Array.from({ length: 12 }, upload))
  const stored = many.filter(({ status }) => status === 'fulfilled').length
  const [url = ''] = (await upload()).map((file) => file.url)
  expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(Buffer.from(data))).toBe(true)
  for (const length of [2 ** 30, null]) {
    const reply = await fetch(`${server.url}/api/user/attachments/v1?type=supportTicket`, {
      method: 'POST',
      headers: { env: 'production', 'content-type': 'application/jose' },
      body: gigabyte(length),
    }).catch(() => null)
    // Bun may close the connection before everything is sent; then there is no response to read.
    if (reply) expect(reply.status).toBe(length === null ? 400 : 413)
  }
  const { peak } = await stopWatching()
  console.log(
    `131: 10 MiB in ${took.toFixed(0)} ms, ${stored} of 12 at once, peak ${(peak / 1e6).toFixed(0)} MB`,
  )
  expect(stored).toBe(12)
  expect(peak).toBeLessThan(500e6)
  expect((await client.readProfile()).loginType).toBe('email')
}, 120_000)

test(`anonymous clients that occupy all slots and send nothing lose them after 10 s ${fault(131)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ ...QUIET, TRUSTED_PROXIES: '127.0.0.1' })
  const client = createClient({ baseUrl: server.url, env: 'production' })
  await client.register({ email: 'ann@example.com', password: PASSWORD })
  const stalledClients = await Promise.all(
    Array.from({ length: 8 }, (_, at) => stall(server, `10.0.0.${at}`)),
  )
  const data = new TextEncoder().encode('at last')
  const files = [{ name: 'a.txt', data }]
  const took = await timed(() => client.uploadAttachments({ type: 'supportTicket', files }))
  console.log(`131: an upload behind 8 stalled ones took ${(took / 1000).toFixed(1)} s`)
  expect(took).toBeLessThan(30_000)
  for (const stalledClient of stalledClients) stalledClient.end()
}, 120_000)

test('1,000 sealed messages of the maximum size at once occupy a bounded amount of memory', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const { seal } = await sealerFor(server)
  const path = '/api/user/data/v1'
  const messages = Array.from({ length: 1_000 }, () =>
    seal({
      head: { htm: 'PUT', htu: path, ath: null },
      header: { cty: 'application/json' },
      body: JSON.stringify({ text: 'x'.repeat(255 * 1024) }),
    }),
  )
  const stopWatching = watchServer(server, async () => {}, 20)
  const statuses = await Promise.all(
    messages.map(async (body) => {
      const headers = { env: 'production', 'content-type': 'application/jose' }
      return (await fetch(server.url + path, { method: 'PUT', headers, body })).status
    }),
  )
  const { peak } = await stopWatching()
  console.log(`1,000 sealed messages at once: peak ${(peak / 1e6).toFixed(0)} MB`)
  expect(statuses.filter((status) => status !== 401 && status !== 503)).toEqual([])
  expect(peak).toBeLessThan(850e6)
}, 120_000)

test(`32 clients lose no operation while the key changes every second for a minute ${fault(132)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const clients = await Promise.all(
    Array.from({ length: 32 }, async () => {
      const client = createClient({ baseUrl: server.url, env: 'production' })
      await client.startAsGuest()
      return client
    }),
  )
  const end = performance.now() + 60_000
  let operations = 0
  let rotations = 0
  const rotating = (async () => {
    while (performance.now() < end) {
      const { exitCode } = await homeport.run(['keys', 'rotate', '--use', 'enc', '--now', '--yes'])
      expect(exitCode).toBe(0)
      rotations++
      await Bun.sleep(1_000)
    }
  })()
  await Promise.all(
    clients.map(async (client, at) => {
      for (let round = 0; performance.now() < end; round++) {
        const name = `${at}-${round}`
        expect((await client.changeProfile({ profile: { name } })).profile.name).toBe(name)
        operations++
      }
    }),
  )
  await rotating
  console.log(`132: ${operations} operations over ${rotations} keys, none lost`)
  expect(rotations).toBeGreaterThan(40)
}, 120_000)

async function sealerFor({ url }: Server) {
  return createSealer(await readKeyForPayloads(url), () => new Date())
}

async function expectRefusal({ url }: Server, message: string) {
  const headers = { env: 'production', payload: message }
  const reply = await fetch(url + PROFILE, { headers })
  expect(await reply.text()).toContain('"code":"encryption_invalid"')
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

function withChangedCharacter(message: string, at: number): string {
  const index = at < 0 ? message.length + at : at
  const other = message[index] === 'A' ? 'Q' : 'A'
  return message.slice(0, index) + other + message.slice(index + 1)
}

/** Announces a sealed upload of the maximum size, as a client at `address`, but sends one byte. */
function stall({ port }: Server, address: string) {
  const head = [
    'POST /api/user/attachments/v1?type=supportTicket HTTP/1.1',
    'Host: 127.0.0.1',
    `X-Forwarded-For: ${address}`,
    'env: production',
    'Content-Type: application/jose',
    'Content-Length: 22000000',
  ]
  return Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data() {},
      open(socket) {
        socket.write(`${head.join('\r\n')}\r\n\r\nx`)
      },
    },
  })
}

/** Sends as many bytes as the server accepts, with a Content-Length or in chunks. */
function gigabyte(length: number | null): Blob | ReadableStream {
  const chunk = new Uint8Array(1024 * 1024).fill(65)
  if (length !== null) return new Blob(Array.from({ length: length / chunk.length }, () => chunk))
  let left = 1024
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(chunk)
      else controller.close()
    },
  })
}
