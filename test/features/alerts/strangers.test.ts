import { expect, test } from 'bun:test'
import { WEBHOOK_TOKEN } from '../../support/app.ts'
import { openConnection, rawRequest } from '../../support/raw-request.ts'
import { until } from '../../support/until.ts'
import { SCANS, setUpDeliveries } from './support/deliveries.ts'

const BILLING = '/api/webhooks/billing/v1'
const EVENT = JSON.stringify({ event: { id: 'E1', type: 'TEST' } })

test('counts requests that are not deliveries, without firing an alert', async () => {
  await using it = await setUpDeliveries()
  for (const body of SCANS) expect(await it.send(BILLING, body)).toBeGreaterThanOrEqual(400)
  for (let at = 0; at < 5; at++) await it.send(BILLING, '{}', 'x')
  expect(await it.listFiringAfter(10)).toEqual([])
  const counted = await it.count('homeport_billing_deliveries_total', { code: 'stray' })
  expect(counted).toBe(SCANS.length + 5)
})

test('replies to a sender that withholds its body, without firing an alert', async () => {
  await using it = await setUpDeliveries()
  const head = `POST ${BILLING} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`
  const port = Number(new URL(it.server.url).port)
  expect(await rawRequest(port, `${head}Content-Length: 200000\r\n\r\n{"event"`)).toContain(' 401 ')
  expect(await it.listFiringAfter()).toEqual([])
})

test('slow bodies do not fire an alert', async () => {
  await using it = await setUpDeliveries()
  const port = Number(new URL(it.server.url).port)
  const head = 'POST /api/auth/login/v1 HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
  const [first, rest] = ['{"email":', '"ann"}']
  const length = first.length + rest.length
  const { socket, received, write } = await openConnection(port)
  write(`${head}Content-Length: ${length}\r\n\r\n${first}`)
  const at = performance.now()
  await until(() => performance.now() - at > 600, 'more than half a second has passed')
  write(rest)
  await until(() => received().includes(' 422 '), 'the request is answered')
  await until(async () => (await it.count('homeport_http_replies_total')) === 1, 'it is measured')
  expect(await it.count('homeport_http_request_duration_seconds', { le: '0.5' })).toBe(1)
  socket.end()
})

test.each([
  ['without a token', undefined],
  ['with a wrong token', 'wrong'],
])('a refused delivery %s fires an alert while none is accepted', async (_name, token) => {
  await using it = await setUpDeliveries()
  expect(await it.send(BILLING, EVENT, token)).toBe(401)
  expect(await it.listFiringAfter()).toEqual(['billing-refused'])
})

test('a refused delivery does not fire an alert once another has been accepted, unless there are many', async () => {
  await using it = await setUpDeliveries()
  await it.send(BILLING, EVENT, 'wrong')
  expect(await it.send(BILLING, EVENT, WEBHOOK_TOKEN)).toBe(200)
  expect(await it.listFiringAfter(3)).toEqual([])
  for (let at = 0; at < 100; at++) await it.send(BILLING, EVENT, 'wrong')
  await it.send(BILLING, EVENT, WEBHOOK_TOKEN)
  expect(await it.listFiringAfter()).toEqual(['billing-refused'])
})

test('a delivery that is refused after an accepted one fires an alert', async () => {
  await using it = await setUpDeliveries()
  await it.send(BILLING, EVENT, WEBHOOK_TOKEN)
  expect(await it.listFiringAfter(2)).toEqual([])
  await it.send(BILLING, EVENT, 'wrong')
  expect(await it.listFiringAfter()).toEqual(['billing-refused'])
  await it.send(BILLING, EVENT, WEBHOOK_TOKEN)
  expect(await it.listFiringAfter(6)).toEqual([])
})
