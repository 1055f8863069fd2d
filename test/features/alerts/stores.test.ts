import { expect, test } from 'bun:test'
import { SCANS, setUpDeliveries } from './support/deliveries.ts'

const APPLE = '/api/webhooks/app-store/v1'
const PLAY = '/api/webhooks/play/v1'
const NOTIFICATION = JSON.stringify({ signedPayload: 'e30.e30.c2ln' })
const PUSH = JSON.stringify({ message: { messageId: '1', data: 'e30=' }, subscription: 's' })
const APPS = { APP_STORE_APPS: 'com.example.app:1234567890' }

test.each([
  ['without apps', {}],
  ['with an app in the App Store', APPS],
])(
  'counts requests that are not notifications, without firing an alert: %s',
  async (_, variables) => {
    await using it = await setUpDeliveries(variables)
    for (const path of [APPLE, PLAY]) {
      for (const body of SCANS) expect(await it.send(path, body)).toBeGreaterThanOrEqual(400)
      for (let at = 0; at < 5; at++) await it.send(path, '{}', 'x')
    }
    expect(await it.listFiringAfter(10)).toEqual([])
    for (const name of ['app_store', 'play']) {
      const counted = await it.count(`homeport_${name}_deliveries_total`, { code: 'stray' })
      expect([name, counted]).toEqual([name, SCANS.length + 5])
    }
  },
)

test.each([
  ['app-store-refused', APPLE, NOTIFICATION],
  ['play-refused', PLAY, PUSH],
])('%s fires only after more than ten refused notifications', async (rule, path, body) => {
  await using it = await setUpDeliveries(APPS)
  for (let at = 0; at < 10; at++) await it.send(path, body)
  expect(await it.listFiringAfter()).toEqual([])
  await it.send(path, body)
  expect(await it.listFiringAfter()).toEqual([rule])
})
