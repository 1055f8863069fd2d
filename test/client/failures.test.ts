import { describe, expect, test } from 'bun:test'
import type { AuthChange } from '../../src/client/client.ts'
import { createMemoryStorage } from '../../src/client/storage.ts'
import { createAuthChanges } from '../../src/client/tabs.ts'
import { PASSWORD } from '../support/app.ts'
import { BACKENDS } from '../support/backends.ts'
import { clientOf } from '../support/network.ts'
import { simulateDelay, until } from '../support/until.ts'

const LOGIN = { email: 'ann@example.com', password: PASSWORD }
const PLAIN = { env: 'test' }

describe.each(BACKENDS)('$name:', ({ open }) => {
  test('logout ends the session on the server even if the storage cannot be cleared', async () => {
    await using app = await open()
    const storage = createMemoryStorage()
    const { client } = clientOf(app, { ...PLAIN, storage })
    await client.register(LOGIN)
    storage.removeItem = () => Promise.reject(new Error('The keychain is locked.'))
    await expect(client.logout()).rejects.toMatchObject({ code: 'storage_failed' })
    const { client: other } = clientOf(app, PLAIN)
    await other.login(LOGIN)
    expect(await other.listSessions()).toHaveLength(1)
  })

  test('repeating a deletion that a proxy answered with 502 succeeds', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    network.interceptor = { reply: () => new Response('Bad gateway', { status: 502 }) }
    await expect(client.deleteProfile()).rejects.toMatchObject({ status: 502 })
    network.interceptor = {}
    expect(await client.deleteProfile()).toEqual({ message: 'The account has been deleted.' })
  })

  test('a deletion whose response was lost is confirmed after an attempt that was not sent', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    const fail = () => Promise.reject(new TypeError('connection lost'))
    network.interceptor = { reply: fail }
    await expect(client.deleteProfile()).rejects.toMatchObject({ code: 'network_error' })
    app.clock.advance(16 * 60_000)
    network.interceptor = { request: fail }
    const notSent = client.deleteProfile({ timeout: 50 })
    await expect(notSent).rejects.toMatchObject({ status: 0 })
    network.interceptor = {}
    expect(await client.deleteProfile()).toEqual({ message: 'The account has been deleted.' })
  })

  test('a deletion whose response was lost is confirmed after another call has ended the session', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    const reasons: string[] = []
    client.onAuthChange(({ reason }) => reasons.push(reason))
    await client.register(LOGIN)
    network.interceptor = { reply: () => Promise.reject(new TypeError('connection lost')) }
    await expect(client.deleteProfile()).rejects.toMatchObject({ code: 'network_error' })
    network.interceptor = {}
    await expect(client.readProfile()).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(reasons).toEqual(['signed_in', 'session_ended'])
    expect(await client.deleteProfile()).toEqual({ message: 'The account has been deleted.' })
    await client.register({ ...LOGIN, email: 'bob@example.com' })
    await client.logout()
    await expect(client.deleteProfile()).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  test('a refused deletion of an ended session does not say that the account has been deleted', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    const reasons: string[] = []
    client.onAuthChange(({ reason }) => reasons.push(reason))
    await client.register(LOGIN)
    await app.endSessions()
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(client.deleteProfile()).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(reasons).toEqual(['signed_in', 'session_ended'])
  })

  test('logout removes a session that the storage can no longer read', async () => {
    await using app = await open()
    const storage = createMemoryStorage()
    const { client } = clientOf(app, { ...PLAIN, storage })
    await client.register(LOGIN)
    const { getItem } = storage
    storage.getItem = async (key) => {
      if ((await getItem(key)) === null) return null
      throw new Error('The key of the keychain is lost.')
    }
    const changes: AuthChange[] = []
    client.onAuthChange((change) => changes.push(change))
    await expect(client.login(LOGIN)).rejects.toMatchObject({ code: 'storage_failed' })
    await client.logout()
    expect(changes).toMatchObject([{ reason: 'signed_out', isSignedIn: false, userId: null }])
    await client.login(LOGIN)
    expect(changes.at(-1)).toMatchObject({ reason: 'signed_in' })
  })

  test('a deletion is not confirmed if the session was refreshed after the lost request', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    network.interceptor = { request: () => Promise.reject(new Error('offline')) }
    await expect(client.deleteProfile()).rejects.toMatchObject({ code: 'network_error' })
    network.interceptor = {}
    app.clock.advance(16 * 60_000)
    await client.readProfile()
    await app.endSessions()
    await expect(client.deleteProfile()).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  test('a guest’s session does not end while the response to their sign-in is in transit', async () => {
    await using app = await open()
    const { client, network, signedOut } = clientOf(app, PLAIN)
    const { user } = await client.startAsGuest()
    const changes: AuthChange[] = []
    client.onAuthChange((change) => changes.push(change))
    let profile: Promise<unknown> = Promise.resolve()
    network.interceptor = {
      reply: async (reply, request) => {
        if (new URL(request.url).pathname !== '/api/auth/register/v1') return reply
        network.interceptor = {}
        profile = client.readProfile().catch(() => {})
        await simulateDelay(50)
        return reply
      },
    }
    await client.register(LOGIN)
    await profile
    expect(changes).toEqual([{ reason: 'signed_in', isSignedIn: true, userId: user._id }])
    expect(signedOut.times).toBe(0)
  })

  test('the session of a guest who uses the app does not end after a year', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    const { user } = await client.startAsGuest()
    for (let days = 0; days < 400; days += 50) {
      app.clock.advance(50 * 24 * 60 * 60_000)
      expect((await client.readProfile())._id).toBe(user._id)
    }
  })

  test('the settings are read without a user once the session has ended', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    await app.endSessions()
    expect(await client.readAppSettings()).toBeObject()
  })

  test('starting as a guest creates a new guest when the last session has ended', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    const first = await client.startAsGuest()
    await app.endSessions()
    const next = await client.startAsGuest()
    expect(next.user._id).not.toBe(first.user._id)
    expect((await client.readProfile())._id).toBe(next.user._id)
  })
})

test('a suspended tab that has missed a sign-in reports it, even if the session has been refreshed since', async () => {
  const expiresAt = 2
  const tab = createAuthChanges('suspended', async () => expiresAt)
  const heard: AuthChange[] = []
  const stop = tab.listen((change) => heard.push(change))
  const other = new BroadcastChannel('suspended')
  const bob = { userId: 'bob', expiresAt }
  other.postMessage({ reason: 'signed_out', expiresAt: null, userId: null })
  other.postMessage({ ...bob, reason: 'signed_in', expiresAt: 1 })
  other.postMessage({ ...bob, reason: 'refreshed' })
  await until(() => heard.length === 1, 'the sign-in is not reported')
  // The first is from a tab with another storage.
  other.postMessage({ reason: 'session_ended', expiresAt: null, userId: null })
  other.postMessage({ ...bob, reason: 'refreshed' })
  await until(() => heard.length === 2, 'the refresh is not reported')
  expect(heard.map(({ reason, userId }) => [reason, userId])).toEqual([
    ['signed_in', 'bob'],
    ['refreshed', 'bob'],
  ])
  stop()
  other.close()
})
