import { expect, test } from 'bun:test'
import { createSlowest } from '../../../src/platform/metrics/slowest.ts'
import { createTestApp } from '../../support/app.ts'
import { signInOperator } from '../../support/operator.ts'

const MINUTE = 60_000
const NOON = Date.UTC(2026, 9, 1, 12)

test('lists the 20 slowest requests, the slowest first', () => {
  const { add, msOf } = startSlowest()
  const times = Array.from({ length: 500 }, (_, at) => ((at * 7919) % 500) + 1)
  for (const ms of times) add(ms, 0)
  expect(msOf(0)).toEqual(Array.from({ length: 20 }, (_, at) => 500 - at))
})

test('forgets requests after an hour, and then lists the next slowest', () => {
  const { add, msOf } = startSlowest()
  for (let at = 0; at < 30; at++) add(1_000 + at, 0)
  for (let minute = 1; minute <= 30; minute++) add(minute, minute)
  expect(msOf(59)[0]).toBe(1_029)
  expect(msOf(59)).toHaveLength(20)
  expect(msOf(60)).toEqual(Array.from({ length: 20 }, (_, at) => 30 - at))
  expect(msOf(85)).toEqual([30, 29, 28, 27, 26])
  expect(msOf(90)).toEqual([])
  add(7, 200)
  expect(msOf(200)).toEqual([7])
})

test('slow requests from the console do not displace those from apps', () => {
  const { add, msOf } = startSlowest()
  add(5, 0)
  for (let at = 0; at < 50; at++) add(1_000 + at, 0, 'GET /console')
  add(6, 0)
  expect(msOf(0)).toEqual([6, 5])
})

test('the console shows the route, status and user of a request, but none of its content', async () => {
  await using app = await createTestApp()
  const { user } = await app.register('slow@example.com')
  await app.ask('GET', '/files/private-key-of-a-file.webp?token=secret-token')
  const { status } = await app.ask('GET', '/api/user/faqs/v1', {
    headers: { 'x-request-id': 'my-request' },
  })
  const ann = await signInOperator(app)
  const isMine = (one: { requestId: string }) => one.requestId === 'my-request'
  await app.logged({ requestId: 'my-request' })
  const list = await ann.read('metrics/slowest')
  const faqs = list.find(isMine)
  expect(faqs).toMatchObject({ name: 'GET /api/user/faqs/v1', status, userId: null })
  expect(Object.keys(faqs).toSorted()).toEqual('at ms name requestId status userId'.split(' '))
  const registered = list.find((one: { name: string }) => one.name.includes('register'))
  expect(registered.userId === null || registered.userId === user._id).toBe(true)
  expect(JSON.stringify(list)).not.toMatch(/private-key|secret|slow@/)
})

function startSlowest() {
  let now = new Date(NOON)
  const slowest = createSlowest(
    () => now,
    (name) => name === 'GET /console',
  )
  const request = { name: 'GET /', status: 200, requestId: '', userId: null }
  return {
    add: (ms: number, minute: number, name = 'GET /') =>
      slowest.add({ ...request, name, ms, at: NOON + minute * MINUTE }),
    msOf(minute: number) {
      now = new Date(NOON + minute * MINUTE)
      return slowest.list(({ name }) => name === 'GET /').map(({ ms }) => ms)
    },
  }
}
