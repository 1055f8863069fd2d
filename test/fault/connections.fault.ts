import { beforeAll, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { cpuTime, residentMemory } from '../bench/servers.ts'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { watchServer } from '../support/watch.ts'

beforeAll(buildExecutable, 300_000)

const HEAD = 'POST /api/auth/login/v1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'

test(`the server survives running out of file descriptors and recovers within 5 s ${fault(33)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({}, ['prlimit', '--nofile=128:128'])
  const sockets = await openMany(server, 500, () => {})
  await Bun.sleep(1_000)
  const before = await cpuTime(server.process.pid)
  await Bun.sleep(1_000)
  const busy = ((await cpuTime(server.process.pid)) - before) / 1_000
  closeAll(sockets)
  const freed = performance.now()
  while (!(await isHealthy(server))) await Bun.sleep(50)
  console.log(
    `33: ${Math.round(busy * 100)} % of a core, answers again after ${Math.round(performance.now() - freed)} ms`,
  )
  expect(busy).toBeLessThan(0.5)
  expect(performance.now() - freed).toBeLessThan(5_000)
  expect(await server.stop()).toBe(0)
}, 30_000)

test(`a request that announces a gigabyte is refused without reading its body ${fault(38)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const before = await residentMemory(server.process.pid)
  const replies = await Promise.all(
    Array.from({ length: 20 }, () =>
      exchangeRaw(server, `${HEAD}Content-Length: ${2 ** 30}\r\n\r\n${'x'.repeat(1e5)}`),
    ),
  )
  for (const reply of replies) expect(reply).toMatch(/^HTTP\/1\.1 413/)
  const grown = (await residentMemory(server.process.pid)) - before
  console.log(`38: ${Math.round(grown / 1e6)} MB more`)
  expect(grown).toBeLessThan(20e6)
  await server.stop()
}, 30_000)

test(`500 clients that send one header per second are disconnected, others are served ${fault(41)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const sockets = await openMany(server, 500, (socket) =>
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n'),
  )
  const timer = setInterval(() => writeTo(sockets, 'X-a: y\r\n'), 1_000)
  const closed = await waitUntilClosed(sockets, 20_000)
  clearInterval(timer)
  console.log(`41: all closed after ${Math.round(closed)} ms`)
  expect(closed).toBeLessThan(15_000)
  expect(await isHealthy(server)).toBe(true)
  await server.stop()
}, 40_000)

test(`1,000 clients that send one byte per second are disconnected, others are served ${fault(42)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const sockets = await openMany(server, 1_000, (socket) =>
    socket.write(`${HEAD}Content-Length: 1000\r\n\r\n{`),
  )
  const timer = setInterval(() => writeTo(sockets, ' '), 1_000)
  const stopWatching = watchServer(server, () => fetchSettings(server), 10)
  const closed = await waitUntilClosed(sockets, 180_000)
  clearInterval(timer)
  const { p99 } = await stopWatching()
  console.log(`42: all closed after ${Math.round(closed)} ms, others within ${p99.toFixed(1)} ms`)
  // A phone in a tunnel may pause for 150 s.
  expect(closed).toBeLessThan(170_000)
  expect(p99).toBeLessThan(50)
  await server.stop()
}, 200_000)

test(`5,000 idle connections cost little ${fault(44)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const sockets = await openMany(server, 5_000, () => {})
  const stopWatching = watchServer(server, () => fetchSettings(server), 10)
  await Bun.sleep(2_000)
  const { p99 } = await stopWatching()
  const resident = await residentMemory(server.process.pid)
  console.log(
    `44: ${sockets.length} connections, p99 ${p99.toFixed(1)} ms, ${Math.round(resident / 1e6)} MB`,
  )
  closeAll(sockets)
  expect(p99).toBeLessThan(50)
  expect(resident).toBeLessThan(200e6)
  await server.stop()
}, 60_000)

test(`headers over 16 KB are refused, and the server keeps serving ${fault(46)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  for (const size of [17_000, 100_000, 1_000_000]) {
    expect(
      await exchangeRaw(
        server,
        `GET /health HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(size)}\r\n\r\n`,
      ),
    ).toMatch(/^(HTTP\/1\.1 431|$)/)
  }
  const many = Array.from({ length: 500 }, (_, at) => `X-${at}: y\r\n`).join('')
  expect(await exchangeRaw(server, `GET /health HTTP/1.1\r\nHost: x\r\n${many}\r\n`)).toMatch(
    /^(HTTP\/1\.1 [24]|$)/,
  )
  expect(await isHealthy(server)).toBe(true)
  await server.stop()
}, 20_000)

async function openMany({ port }: Server, count: number, greet: (socket: Socket) => void) {
  const sockets: Socket[] = []
  for (let at = 0; at < count; at++) {
    const socket = connect(port, '127.0.0.1', () => greet(socket))
    socket.on('error', () => {})
    sockets.push(socket)
    if (at % 100 === 99) await Bun.sleep(10)
  }
  await Bun.sleep(200)
  return sockets
}

function writeTo(sockets: Socket[], text: string) {
  for (const socket of sockets) socket.write(text)
}

function closeAll(sockets: Socket[]) {
  for (const socket of sockets) socket.destroy()
}

/** Time in ms until the server has closed all sockets, or until `limit`. */
async function waitUntilClosed(sockets: Socket[], limit: number): Promise<number> {
  const start = performance.now()
  for (const socket of sockets) socket.resume()
  while (sockets.some((socket) => !socket.destroyed) && performance.now() - start < limit)
    await Bun.sleep(50)
  const took = performance.now() - start
  closeAll(sockets)
  return took
}

/** Everything received until the connection closes, for at most two seconds. */
function exchangeRaw({ port }: Server, request: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  const socket = connect(port, '127.0.0.1', () => socket.write(request))
  socket.on('data', (chunk) => {
    text += chunk.toString()
  })
  socket.on('error', () => {})
  socket.on('close', () => resolve(text))
  setTimeout(() => socket.destroy(), 2_000)
  return promise
}

async function fetchSettings(server: Server) {
  const reply = await fetch(`${server.url}/api/user/app_settings/v1`)
  expect(reply.status).toBe(200)
  await reply.bytes()
}

async function isHealthy({ url }: Server): Promise<boolean> {
  const signal = AbortSignal.timeout(1_000)
  return fetch(`${url}/health`, { signal }).then(
    ({ ok }) => ok,
    () => false,
  )
}
