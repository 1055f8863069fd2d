import { expect } from 'bun:test'
import { PASSWORD, type TestApp } from '../support/app.ts'
import { openStream } from '../support/event-stream.ts'
import { createTestInstances, testInstances } from '../support/instances.ts'

const PROFILE = '/api/user/profile/v1'

function renamed(name: string) {
  return { profile: { name } }
}

testInstances(
  'a change on one instance reaches the streams of the other within a second',
  async () => {
    await using instances = await createTestInstances()
    const { here, there } = instances
    const { accessToken: token, user } = await here.register()
    const stream = await open(there, token)
    const startedAt = performance.now()
    await here.ask('PATCH', PROFILE, { token, json: renamed('Ann') })
    await stream.next('profile')
    expect(performance.now() - startedAt).toBeLessThan(1_000)
    await here.services.settings.set({ underMaintenance: true })
    await stream.next('settings')
    const { changes, db } = here.services
    await db.write((tx) => changes.record(tx, user._id, 'subscription'))
    await stream.next('subscription')
    expect(stream.names()).toEqual(['ready', 'profile', 'settings', 'subscription'])
    await stream.close()
  },
)

testInstances('after a settings event, every instance returns the new settings', async () => {
  await using instances = await createTestInstances()
  const { here, there } = instances
  const { accessToken: token } = await here.register()
  const streams = [await open(here, token), await open(there, token)]
  for (const version of ['2.0.0', '2.1.0']) {
    // Both have just cached the old settings.
    for (const { services } of [here, there]) await services.settings.read()
    const seen = streams.map(({ events }) => events.length)
    await here.services.settings.set({ 'ios.latestVersion': version })
    for (const [at, stream] of streams.entries()) {
      await stream.next('settings', seen[at])
      for (const { services } of [here, there])
        expect((await services.settings.read()).ios?.latestVersion).toBe(version)
    }
  }
  for (const stream of streams) await stream.close()
})

testInstances(
  'a sign-out on one instance ends the streams of the other within a second',
  async () => {
    await using instances = await createTestInstances()
    const { here, there } = instances
    const email = 'ann@example.com'
    const phone = await here.register(email)
    const json = { email, password: PASSWORD }
    const tablet = (await here.ask('POST', '/api/auth/login/v1', { json })).json.response
    const streams = [
      await open(there, phone.accessToken),
      await open(there, tablet.accessToken),
    ] as const
    const startedAt = performance.now()
    await here.ask('POST', '/api/auth/logout/v1', { token: phone.accessToken })
    await streams[0].next('signed-out')
    await streams[0].ended()
    expect(performance.now() - startedAt).toBeLessThan(1_000)
    expect(there.services.changes.countStreams()).toBe(1)
    await streams[1].close()
  },
)

testInstances(
  'a stream that opens later does not hide a change from streams that are already open',
  async () => {
    await using instances = await createTestInstances()
    const { here, there } = instances
    const { accessToken: token } = await here.register()
    const { accessToken: other } = await here.register()
    const streams = [await open(there, token), await open(there, other)] as const
    await here.services.settings.set({ underMaintenance: true })
    await here.ask('PATCH', PROFILE, { token, json: renamed('Ann') })
    const later = await open(there, token)
    await streams[0].next('profile')
    await Promise.all(streams.map((stream) => stream.next('settings')))
    for (const stream of [...streams, later]) await stream.close()
  },
)

testInstances('an app can resume its stream on the other instance', async () => {
  await using instances = await createTestInstances()
  const { here, there } = instances
  const { accessToken: token } = await here.register()
  const first = await open(here, token)
  const id = first.lastId()
  await first.close()
  await there.ask('PATCH', PROFILE, { token, json: renamed('Ann') })
  const second = await open(there, token, id)
  expect(second.names()).toEqual(['profile', 'ready'])
  await second.close()
})

async function open(app: TestApp, token: string, lastEventId: string | null = null) {
  const stream = await openStream((request) => app.app.handle(request), token, { lastEventId })
  await stream.next('ready')
  return stream
}

testInstances(
  'an app that connects just after a publication is notified once its instance returns the new value',
  async () => {
    await using instances = await createTestInstances()
    const { here, there } = instances
    const { accessToken: token } = await here.register()
    await there.services.settings.read()
    await here.services.settings.set({ 'ios.latestVersion': '2.0.0' })
    const stream = await open(there, token)
    await stream.next('settings')
    expect((await there.services.settings.read()).ios?.latestVersion).toBe('2.0.0')
    await stream.close()
  },
)
