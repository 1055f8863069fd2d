import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createClient, type DataConflict, type DataSync } from '../../../src/client/client.ts'
import { createMemoryStorage } from '../../../src/client/storage.ts'
import { createTestApp } from '../../support/app.ts'
import { cases } from '../../support/cases.ts'
import { createDevice, LOGIN } from '../../support/data-device.ts'
import { networkTo } from '../../support/network.ts'
import { until } from '../../support/until.ts'

const value = fc.oneof(
  fc.constant(null),
  fc.nat({ max: 9 }),
  fc.dictionary(fc.constantFrom('x', 'y'), fc.nat({ max: 9 })),
)
const step = fc.record({
  device: fc.nat({ max: 1 }),
  patch: fc.dictionary(fc.constantFrom('a', 'b', 'c'), value),
  isOnline: fc.boolean(),
})

test('devices that change the document offline agree in the end', async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  const { fetch } = networkTo(app)
  await createClient({ baseUrl: 'http://localhost', fetch }).register(LOGIN)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      let isOnline = true
      const client = createClient({
        baseUrl: 'http://localhost',
        fetch: (url, init) => (isOnline ? fetch(url, init) : Promise.reject(new Error('offline'))),
      })
      await client.login(LOGIN)
      await client.replaceData({})
      const devices = [await install(), await install()] as const
      for (const { device, patch, isOnline: isConnected } of steps) {
        const sync = devices[device === 0 ? 0 : 1]
        const before = sync.getSnapshot().data
        isOnline = isConnected
        await sync.change(patch)
        if (Object.keys(patch).length === 0 && !isConnected)
          expect(sync.getSnapshot().data).toEqual(before)
        // A failed read is retried, which takes a second; only changes fail at once.
        if (isConnected) await sync.sync()
      }
      isOnline = true
      const [phone, tablet] = devices
      for (const sync of [phone, tablet, phone]) await sync.sync()
      const { data } = await client.readData()
      expect(devices.map((sync) => sync.getSnapshot())).toEqual([
        { data, hasUnsent: false, dropped: null, error: null },
        { data, hasUnsent: false, dropped: null, error: null },
      ])
      for (const sync of devices) sync.stop()

      async function install(): Promise<DataSync> {
        const sync = await client.syncData({ storage: createMemoryStorage() })
        await sync.sync()
        return sync
      }
    }),
    { numRuns: cases(40, 1_000) },
  )
}, 60_000)

test('a change that is made while the document is being read is sent too', async () => {
  await using device = await createDevice()
  const { sync, client, hold } = device
  const { reached, release } = hold('GET')
  const reading = sync.sync()
  await reached
  await sync.change({ theme: 'light' })
  release()
  await reading
  await until(() => !sync.getSnapshot().hasUnsent, 'the change is not sent')
  expect((await client.readData()).data).toEqual({ theme: 'light' })
})

test('a change on another device is shown although an older response arrives after its event', async () => {
  await using device = await createDevice()
  const { sync, client, hold } = device
  const { reached, release } = hold('GET')
  const reading = sync.sync()
  await reached
  await client.patchData({ theme: 'light' })
  const again = sync.sync()
  release()
  await Promise.all([reading, again])
  await until(() => sync.getSnapshot().data['theme'] === 'light', 'the change is not shown')
})

test('a change during a request does not repeat what another device has undone', async () => {
  await using device = await createDevice()
  const { sync, client, hold } = device
  await sync.sync()
  const { reached, release } = hold('PATCH')
  await sync.change({ favorites: { x: true } })
  await reached
  await sync.change({ favorites: { y: true } })
  await client.patchData({ favorites: { x: null } })
  release()
  await sync.sync()
  await until(() => !sync.getSnapshot().hasUnsent, 'the change is not sent')
  expect((await client.readData()).data).toEqual({ favorites: { y: true } })
})

test('changes that the server rejects are reported, and do not keep the device from reading', async () => {
  await using device = await createDevice()
  const { sync, client } = device
  await sync.sync()
  const text = 'x'.repeat(40_000)
  device.isOnline = false
  await sync.change({ text })
  await client.patchData({ other: text })
  device.isOnline = true
  await sync.sync()
  await until(() => sync.getSnapshot().dropped !== null, 'the rejection is not reported')
  expect(sync.getSnapshot()).toMatchObject({ hasUnsent: false, dropped: { text } })
  await client.replaceData({ theme: 'dark' })
  await sync.sync()
  expect(sync.getSnapshot()).toMatchObject({ data: { theme: 'dark' }, error: null })
  await sync.change({ theme: 'light' })
  expect(sync.getSnapshot().dropped).toBeNull()
  await until(() => !sync.getSnapshot().hasUnsent, 'the change is not sent')
})

test('a change that is too large is refused at once, and loses no earlier change', async () => {
  await using device = await createDevice()
  const { sync, client } = device
  await sync.sync()
  device.isOnline = false
  await sync.change({ theme: 'dark' })
  await expect(sync.change({ text: 'x'.repeat(70_000) })).rejects.toMatchObject({
    code: 'payload_too_large',
  })
  device.isOnline = true
  await sync.sync()
  await until(() => !sync.getSnapshot().hasUnsent, 'the change is not sent')
  expect((await client.readData()).data).toEqual({ theme: 'dark' })
})

test('a change is sent again after a failure that the stream of changes survived', async () => {
  await using device = await createDevice()
  const { sync, client } = device
  await sync.sync()
  device.isOnline = false
  await sync.change({ theme: 'dark' })
  await until(() => sync.getSnapshot().error !== null, 'the exchange does not fail')
  device.isOnline = true
  await until(() => !sync.getSnapshot().hasUnsent, 'the change is not sent', { deadlineMs: 15_000 })
  expect((await client.readData()).data).toEqual({ theme: 'dark' })
}, 20_000)

test('a change without a signed-in user is refused', async () => {
  await using device = await createDevice()
  await device.ofDevice.logout()
  const { sync } = device
  await until(() => !sync.getSnapshot().hasUnsent, 'the document is still there')
  await expect(sync.change({ theme: 'dark' })).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('an app merges what two devices have changed at the same time', async () => {
  const merge = ({ local, remote }: DataConflict) => ({
    ...remote,
    ...local,
    score: Math.max(Number(local['score']), Number(remote['score'])),
  })
  await using device = await createDevice({ merge })
  const { sync, client } = device
  await client.replaceData({ score: 1 })
  await sync.sync()
  device.isOnline = false
  await sync.change({ score: 5, level: 2 })
  await until(() => sync.getSnapshot().error !== null, 'the exchange does not fail')
  await client.patchData({ score: 9 })
  device.isOnline = true
  await sync.sync()
  await until(() => !sync.getSnapshot().hasUnsent, 'the change is not sent')
  expect((await client.readData()).data).toEqual({ score: 9, level: 2 })
  expect(sync.getSnapshot()).toMatchObject({ data: { score: 9, level: 2 }, hasUnsent: false })
})

test('changes are sent after a restart, and when the connection returns', async () => {
  await using device = await createDevice()
  await device.sync.sync()
  device.isOnline = false
  await device.sync.change({ theme: 'dark' })
  device.sync.stop()
  const sync = await device.start()
  expect(sync.getSnapshot()).toMatchObject({ data: { theme: 'dark' }, hasUnsent: true })
  device.isOnline = true
  // The stream of changes opens, and reports its first change.
  await until(() => !sync.getSnapshot().hasUnsent, 'the change is not sent')
  expect((await device.client.readData()).data).toEqual({ theme: 'dark' })
  sync.stop()
}, 20_000)

test('a change that is made just before a stop is still sent', async () => {
  await using device = await createDevice({ isSlow: true })
  const { sync, client } = device
  await sync.sync()
  void sync.change({ theme: 'dark' })
  sync.stop()
  await until(async () => (await client.readData()).data['theme'] === 'dark', 'it is not sent')
})
