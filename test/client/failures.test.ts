import { describe, expect, test } from 'bun:test'
import { createMemoryStorage } from '../../src/client/storage.ts'
import { PASSWORD } from '../support/app.ts'
import { BACKENDS } from '../support/backends.ts'
import { clientOf } from '../support/network.ts'

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
    expect(await client.deleteProfile()).toEqual({ message: 'The account is deleted.' })
  })

  test('starting as a guest creates a new one when the session of the last one has ended', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    const first = await client.startAsGuest()
    await app.endSessions()
    const next = await client.startAsGuest()
    expect(next.user._id).not.toBe(first.user._id)
    expect((await client.readProfile())._id).toBe(next.user._id)
  })
})
