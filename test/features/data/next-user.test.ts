import { expect, test } from 'bun:test'
import { createDevice, LOGIN, turns } from '../../support/data-device.ts'
import { until } from '../../support/until.ts'

test('neither the document nor its changes reach the next user', async () => {
  await using device = await createDevice()
  const { sync, client, hold, ofDevice, storage } = device
  await client.patchData({ diary: 'of Ann' })
  await sync.sync()
  const { reached, release } = hold('GET')
  const reading = sync.sync()
  await reached
  await ofDevice.logout()
  await ofDevice.register({ ...LOGIN, email: 'bob@example.com' })
  await until(() => sync.getSnapshot().data['diary'] === undefined, 'the document is still shown')
  await sync.change({ theme: 'dark' })
  release()
  await reading
  await until(() => !sync.getSnapshot().hasUnsent, 'the change is not sent')
  expect((await ofDevice.readData()).data).toEqual({ theme: 'dark' })
  expect(sync.getSnapshot().data).toEqual({ theme: 'dark' })
  expect((await client.readData()).data).toEqual({ diary: 'of Ann' })
  expect(JSON.stringify(storage.items())).not.toContain('of Ann')
})

test('unsent changes never reach the next user, however slow the storage is', async () => {
  for (const moment of Array(12).keys()) {
    await using device = await createDevice({ isSlow: true })
    const { sync, client, ofDevice } = device
    await client.register({ ...LOGIN, email: 'bob@example.com' })
    // The documents of both are empty now, so their versions are the same.
    await sync.sync()
    device.isOnline = false
    await sync.change({ diary: 'of Ann' })
    await until(() => sync.getSnapshot().error !== null, 'the exchange does not fail')
    device.isOnline = true
    const login = ofDevice.login({ ...LOGIN, email: 'bob@example.com' })
    await turns(moment)
    void sync.sync()
    await login
    // The first exchange may still be the previous user's.
    await sync.sync()
    await sync.sync()
    expect(sync.getSnapshot().data).toEqual({})
    expect((await client.readData()).data).toEqual({})
  }
})

test('a sign-out removes the document, even while a change is being stored', async () => {
  for (const moment of Array(12).keys()) {
    await using device = await createDevice({ isSlow: true })
    const { sync, ofDevice, storage } = device
    const change = sync.change({ diary: 'of Ann' }).catch(() => {})
    await turns(moment)
    await ofDevice.logout()
    await change
    const names = () => Object.keys(storage.items())
    await until(() => names().every((name) => !name.includes('data')), 'the document stays')
    await sync.sync()
    expect(JSON.stringify(storage.items())).not.toContain('of Ann')
  }
})

test('a sign-out removes the document, even if the app does not sync it then', async () => {
  await using device = await createDevice()
  const { sync, ofDevice, storage } = device
  await sync.sync()
  device.isOnline = false
  await sync.change({ diary: 'of Ann' })
  sync.stop()
  await ofDevice.logout()
  expect(JSON.stringify(storage.items())).not.toContain('of Ann')
})

test('a user who signs out while the document is loaded is not shown', async () => {
  for (const moment of Array(12).keys()) {
    await using device = await createDevice({ isSlow: true })
    const { sync, ofDevice } = device
    await sync.change({ diary: 'of Ann' })
    const leaving = ofDevice.logout()
    await turns(moment)
    const started = await device.start()
    await leaving
    await until(() => started.getSnapshot().data['diary'] === undefined, 'the document is shown')
    started.stop()
  }
})

test('a sync that is stopped stores no late response', async () => {
  await using device = await createDevice()
  const { sync, client, hold, storage } = device
  await sync.sync()
  const { reached, release } = hold('GET')
  await client.patchData({ theme: 'dark' })
  const reading = sync.sync()
  await reached
  sync.stop()
  release()
  await reading
  expect(JSON.stringify(storage.items())).not.toContain('dark')
})
