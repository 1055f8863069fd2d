import { expect, test } from 'bun:test'
import { atMinimumRate, PATIENT_RATE } from '../../../src/platform/http/body/arrival.ts'
import { streamChunks } from '../../../src/platform/http/body/body.ts'
import { readWithMinimumRate } from '../../../src/platform/http/body/connection-time.ts'
import { until } from '../../support/until.ts'

const idle = { isContended: () => false, onContended: () => new Error('too many') }

test('refuses a stalled body, but allows more time for data already sent', async () => {
  const { request, send } = openRequest()
  const chunks = atMinimumRate(streamChunks(request), { bytesPerSecond: () => 1, grace: 0.05 })
  send('x'.repeat(600))
  expect((await chunks.next()).value).toHaveLength(600)
  send('y')
  expect((await chunks.next()).value).toHaveLength(1)
  const silent = openRequest()
  const stalled = atMinimumRate(streamChunks(silent.request), {
    bytesPerSecond: () => 1_000,
    grace: 0.05,
  })
  silent.send('x')
  await stalled.next()
  await expect(stalled.next()).rejects.toThrow('too slowly')
})

test('refuses a pause of 150 s, however much has arrived', async () => {
  const clock = performance.now
  let now = 0
  performance.now = () => now
  try {
    const { request, send } = openRequest()
    const chunks = atMinimumRate(streamChunks(request), PATIENT_RATE)
    send('x'.repeat(240_000))
    await chunks.next()
    const late = chunks.next()
    now += 151_000
    await expect(late).rejects.toThrow('too slowly')
  } finally {
    performance.now = clock
  }
})

test('does not count the time spent on a chunk', async () => {
  const { request, send } = openRequest()
  const chunks = atMinimumRate(streamChunks(request), { bytesPerSecond: () => 1e6, grace: 5 })
  let now = 0
  const clock = performance.now
  performance.now = () => now
  try {
    send('x')
    await chunks.next()
    now += 60_000
    send('y')
    expect((await chunks.next()).value).toHaveLength(1)
  } finally {
    performance.now = clock
  }
})

test('refuses a slow body that occupies memory once others wait for it', async () => {
  const clock = performance.now
  let now = 0
  let asked = 0
  let isContended = false
  performance.now = () => {
    asked++
    return now
  }
  try {
    const { request, send } = openRequest()
    const contention = { isContended: () => isContended, onContended: () => new Error('too many') }
    const reading = readWithMinimumRate(request, 22 * 1024 * 1024, contention)
    for (let chunk = 0; chunk < 4; chunk++) {
      const before = asked
      send('x'.repeat(1024 * 1024))
      await until(() => asked > before, 'the chunk is not read')
      now += 20_000
    }
    isContended = true
    send('x')
    await expect(reading).rejects.toThrow('too many')
  } finally {
    performance.now = clock
  }
})

test('a slow sender is not refused if others stop waiting', async () => {
  let rate = 100
  let asked = 0
  const bytesPerSecond = () => {
    asked++
    return rate
  }
  const { request, send } = openRequest()
  const chunks = atMinimumRate(streamChunks(request), { bytesPerSecond, grace: 0.02 })
  send('xx')
  await chunks.next()
  const next = chunks.next()
  const before = asked
  rate = 0.01
  await until(() => asked > before, 'the time that the sender had at first does not end')
  send('y')
  expect((await next).value).toHaveLength(1)
})

test('refuses a body longer than announced', async () => {
  const { request, send, end } = openRequest()
  send('four')
  end()
  expect(Buffer.from(await readWithMinimumRate(request, 4, idle)).toString()).toBe('four')
  const longer = openRequest()
  longer.send('fives')
  await expect(readWithMinimumRate(longer.request, 4, idle)).rejects.toThrow('must not exceed')
})

/** A request whose body arrives as the test sends it. */
function openRequest() {
  const sink = new TransformStream<Uint8Array, Uint8Array>()
  const writer = sink.writable.getWriter()
  const request = new Request('http://localhost/', { method: 'POST', body: sink.readable })
  const ignore = () => {}
  return {
    request,
    send: (text: string) => void writer.write(Buffer.from(text)).catch(ignore),
    end: () => void writer.close().catch(ignore),
  }
}
