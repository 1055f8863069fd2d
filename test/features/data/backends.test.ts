import { describe, expect, test } from 'bun:test'
import type { UserProfile } from '../../../src/client/client.ts'
import { PASSWORD } from '../../support/app.ts'
import type { World } from '../../support/backends.ts'
import { clientOf, codeOf } from '../../support/network.ts'
import { SCRIPTED_BACKENDS } from '../../support/scripted-backends.ts'

const LOGIN = { email: 'ann@example.com', password: PASSWORD }
const PLAIN = { env: 'test' }

describe.each(SCRIPTED_BACKENDS)('$name:', ({ open }) => {
  test('documents are versioned, and a guest’s document is merged at sign-in', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    const empty = await client.startAsGuest().then(() => client.readData())
    expect(empty).toMatchObject({ data: {}, updatedAt: null, serverData: {} })
    const { version } = await client.replaceData({ a: 1, b: { c: 2, d: 3 } }, empty)
    expect(await codeOf(client.replaceData({}, empty))).toBe('precondition_failed')
    const patched = await client.patchData({ a: null, b: { c: null }, e: [1] }, { version })
    expect(patched.data).toEqual({ b: { d: 3 }, e: [1] })
    expect((await client.replaceData({ a: 1, b: { c: 2, d: 3 } })).version).toBe(version)
    const large = { text: 'x'.repeat(65_536) }
    expect(await codeOf(client.patchData(large))).toBe('payload_too_large')
    const other = clientOf(app, PLAIN).client
    const { user } = await other.register(LOGIN)
    await other.replaceData({ b: 'mine' })
    await setServerData(app, user, { score: 1 })
    await client.login(LOGIN)
    expect(await client.readData()).toMatchObject({
      data: { a: 1, b: 'mine' },
      serverData: { score: 1 },
    })
  })
})

async function setServerData({ services, server }: World, user: UserProfile, data: object) {
  const document = { ...data }
  await services?.documents.replaceServerData(user._id, document)
  server?.setServerData(user, document)
}
