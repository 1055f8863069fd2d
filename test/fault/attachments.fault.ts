import { beforeAll, expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { residentMemory } from '../bench/servers.ts'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { bombPng, noise, phonePhoto } from '../support/pictures.ts'
import { register } from '../support/requests.ts'
import { watchServer } from '../support/watch.ts'

beforeAll(buildExecutable, 60_000)

const QUIET = { LOG_LEVEL: 'warn' }

test('100: a bomb of 256 megapixels is refused by its header within 100 ms', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const { accessToken: token } = await register(server, 'ann@example.com')
  await upload(server, token, await phonePhoto())
  const bomb = await bombPng(16_000)
  const before = await residentMemory(server.process.pid)
  const start = performance.now()
  const reply = await upload(server, token, bomb)
  const took = performance.now() - start
  console.log(`100: ${Math.round(bomb.length / 1024)} KiB refused in ${took.toFixed(0)} ms`)
  expect(reply.status).toBe(422)
  expect(took).toBeLessThan(100)
  expect((await residentMemory(server.process.pid)) - before).toBeLessThan(20e6)
  await server.stop()
}, 60_000)

test('101, 102: ten 48-megapixel photos at once leave the API small and quick', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const { accessToken: token } = await register(server, 'ann@example.com')
  const photo = await sharp({
    create: { width: 8_000, height: 6_000, channels: 3, background: '#357' },
  })
    .composite([{ input: await noise(2_000, 1_500).png().toBuffer(), left: 500, top: 700 }])
    .jpeg({ quality: 90 })
    .toBuffer()
  const headers = { authorization: `Bearer ${token}` }
  const readProfile = async () => {
    expect((await fetch(`${server.url}/api/user/profile/v1`, { headers })).status).toBe(200)
  }
  const stopWatching = watchServer(server, readProfile, 10)
  const sent = Array.from({ length: 10 }, () =>
    upload(server, token, photo, 'type=publicAsset&targetType=webp&compression=true'),
  )
  const statuses = (await Promise.all(sent)).map(({ status }) => status)
  const { p99, peak } = await stopWatching()
  console.log(`102: profile p99 ${p99.toFixed(1)} ms, API ${Math.round(peak / 1e6)} MB`)
  expect(statuses).toEqual(Array.from({ length: 10 }, () => 200))
  expect(p99).toBeLessThan(100)
  expect(peak).toBeLessThan(200e6)
  await server.stop()
}, 180_000)

test('111: a picture that takes too long is given up, and the next one is made', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const { accessToken: token } = await register(server, 'ann@example.com')
  const heavy = await noise(8_000, 6_000).jpeg({ quality: 60 }).toBuffer()
  const start = performance.now()
  const reply = await upload(server, token, heavy, 'type=publicAsset&targetType=png')
  console.log(`111: ${reply.status} after ${((performance.now() - start) / 1000).toFixed(1)} s`)
  expect([200, 413, 422, 503]).toContain(reply.status)
  expect(performance.now() - start).toBeLessThan(40_000)
  expect((await upload(server, token, await phonePhoto())).status).toBe(200)
  await server.stop()
}, 120_000)

test('107: a thousand mutants of pictures leave the server up and nothing behind', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ ...QUIET, ATTACHMENT_QUOTA_COUNT: '5000' })
  const { accessToken: token } = await register(server, 'ann@example.com')
  const seeds = [
    await phonePhoto(60, 40),
    await noise(60, 40).png().toBuffer(),
    await noise(60, 40).webp().toBuffer(),
  ]
  const counts: Record<string, number> = {}
  const send = async (at: number) => {
    const mutant = Buffer.from(seeds[at % seeds.length] as Buffer)
    for (let flips = 0; flips < 1 + (at % 12); flips++) {
      mutant[Math.floor(Math.random() * mutant.length)] = Math.floor(Math.random() * 256)
    }
    const { status } = await upload(server, token, mutant)
    counts[status] = (counts[status] ?? 0) + 1
  }
  for (let at = 0; at < 1_000; at += 4)
    await Promise.all([0, 1, 2, 3].map((more) => send(at + more)))
  console.log(`107: ${JSON.stringify(counts)}`)
  expect(Object.keys(counts).every((status) => ['200', '415', '422'].includes(status))).toBe(true)
  expect(await readdir(join(homeport.folder, 'data', 'files', 'tmp'))).toEqual([])
  await server.stop()
}, 180_000)

test('116, 117: 100 uploads that break off and 100 that are killed leave no row without a file', async () => {
  await using homeport = await installExecutable()
  let server = await homeport.start(QUIET)
  const { accessToken: token } = await register(server, 'ann@example.com')
  for (let at = 0; at < 100; at++) {
    const stop = new AbortController()
    const sending = slowUpload(server, token, stop.signal)
    await Bun.sleep(5)
    stop.abort()
    await sending
  }
  await Bun.sleep(300)
  expect(await readdir(join(homeport.folder, 'data', 'files', 'tmp'))).toEqual([])
  for (let round = 0; round < 10; round++) {
    const stop = new AbortController()
    const sending = Array.from({ length: 10 }, () => slowUpload(server, token, stop.signal))
    await Bun.sleep(20)
    server.process.kill('SIGKILL')
    await server.process.exited
    stop.abort()
    await Promise.all(sending)
    server = await homeport.start(QUIET)
  }
  const reply = await fetch(`${server.url}/api/user/export/v1`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const { response } = (await reply.json()) as { response: { attachments: unknown[] } }
  expect(response.attachments).toEqual([])
  await server.stop()
}, 180_000)

test('43: a phone that sends 12 KB a second succeeds with 2 MB', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const { accessToken: token } = await register(server, 'ann@example.com')
  const file = join(homeport.folder, 'slow.txt')
  await Bun.write(file, 'x'.repeat(2_000_000))
  const send = async () => {
    const curl = Bun.spawn(
      [
        'curl',
        '-s',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code}',
        '--limit-rate',
        '12k',
        '-F',
        `f=@${file}`,
      ]
        .concat(['-H', `Authorization: Bearer ${token}`])
        .concat(`${server.url}/api/user/attachments/v1?type=supportTicket`),
      { stdout: 'pipe' },
    )
    return new Response(curl.stdout).text()
  }
  const codes = await Promise.all(Array.from({ length: 20 }, send))
  expect(codes).toEqual(Array.from({ length: 20 }, () => '200'))
  await server.stop()
}, 300_000)

/** An upload whose body never ends; it is over when it is aborted or the server is gone. */
async function slowUpload(server: Server, token: string, signal: AbortSignal) {
  const body = new ReadableStream({
    async pull(controller) {
      await Bun.sleep(2)
      controller.enqueue(Buffer.alloc(10_000, 120))
    },
  })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' }
  const url = `${server.url}/api/user/attachments/v1?type=supportTicket`
  await fetch(url, { method: 'POST', headers, body, signal }).catch(() => null)
}

function upload({ url }: Server, token: string, body: Buffer, query = 'type=publicAsset') {
  return fetch(`${url}/api/user/attachments/v1?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'image/jpeg' },
    body,
  })
}
