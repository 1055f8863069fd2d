import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { PATH, uploadBody } from '../../support/attachments.ts'
import { phonePhoto } from '../../support/pictures.ts'

const PROFILE = '/api/user/profile/v1'

test('lists files in pages, newest first, each exactly once', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { accessToken: other } = await app.register()
  await uploadBody(app, other, 'not hers', 'text/plain', 'supportTicket')
  const keys: string[] = []
  for (const index of [1, 2, 3, 4, 5]) {
    keys.unshift(await upload(app, token, `file ${index}`))
    if (index % 2 === 0) app.clock.advance(1_000)
  }
  const unpaged = (await app.ask('GET', PATH, { token })).json
  expect(unpaged.response.map(keyOf).toSorted()).toEqual(keys.toSorted())
  expect(unpaged.next).toBeUndefined()
  expect(keyOf(unpaged.response[0])).toBe(keys[0] ?? '')
  const shown: string[] = []
  for (let after = ''; ; ) {
    const { json } = await app.ask('GET', `${PATH}?limit=2${after}`, { token })
    shown.push(...json.response.map(keyOf))
    if (json.next === undefined) break
    after = `&after=${json.next}`
    // A deletion between two requests does not shift the pages.
    if (shown.length === 2) await app.ask('DELETE', `${PATH}?key=${shown[1]}`, { token })
  }
  expect(shown).toEqual(unpaged.response.map(keyOf))
})

test('lists each file with its size, creation time and a working URL', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  await upload(app, token, 'twelve bytes')
  const [file] = (await app.ask('GET', PATH, { token })).json.response
  expect(file).toMatchObject({ type: 'supportTicket', itemType: 'text/plain', size: 12 })
  expect(file.createdAt).toBe(app.clock.now.toISOString())
  expect((await app.app.handle(new Request(file.url))).status).toBe(200)
})

test('validates limit and after', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'after=x', 'after=1-../..']) {
    expect([query, (await app.ask('GET', `${PATH}?${query}`, { token })).status]).toEqual([
      query,
      422,
    ])
  }
})

test('an avatar must be one of the user’s public images, and is removed with that file', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const setAvatar = (avatarKey: unknown) =>
    app.ask('PATCH', PROFILE, { token, json: { profile: { avatarKey } } })
  const photo = await uploadBody(app, token, await phonePhoto(), 'image/jpeg', 'publicAsset')
  const [{ key, url }] = photo.json.response
  expect((await app.ask('GET', PROFILE, { token })).json.response.profile.avatarUrl).toBeNull()
  expect((await setAvatar(key)).json.response.profile.avatarUrl).toBe(url)

  const { accessToken: other } = await app.register()
  const refused = await app.ask('PATCH', PROFILE, {
    token: other,
    json: { profile: { avatarKey: key } },
  })
  expect(refused.json.details).toEqual([
    { path: 'profile.avatarKey', message: 'must be the key of one of your public images' },
  ])
  for (const wrong of [await upload(app, token, 'text'), 'unknown.png', '', 7]) {
    expect((await setAvatar(wrong)).status).toBe(422)
  }
  expect((await setAvatar(null)).json.response.profile.avatarUrl).toBeNull()
  await setAvatar(key)
  await app.ask('DELETE', `${PATH}?key=${key}`, { token })
  expect((await app.ask('GET', PROFILE, { token })).json.response.profile.avatarUrl).toBeNull()
})

async function upload(app: TestApp, token: string, text: string): Promise<string> {
  const { json } = await uploadBody(app, token, text, 'text/plain', 'supportTicket')
  return json.response[0].key
}

function keyOf({ key }: { key: string }): string {
  return key
}
