import { expect, test } from 'bun:test'
import type { TSchema } from 'elysia'
import { ProfilePatch } from '../../../src/features/users/profile/model.ts'
import { serverClient } from '../../support/api-keys.ts'
import { createTestApp } from '../../support/app.ts'
import { filesOf, uploadBody } from '../../support/attachments.ts'
import { fault } from '../../support/fault.ts'
import { phonePhoto } from '../../support/pictures.ts'

const PATH = '/api/user/profile/v1'
const PROFILE_FIELDS: Record<string, TSchema> = ProfilePatch.properties.profile.anyOf[0].properties

test('a patch changes only the fields that it contains', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register('Bob@Example.com')
  const json = {
    profile: { name: 'Bob', timezone: 'America/New_York', currency: 'EUR' },
    onboardingCompleted: true,
  }
  const changed = await app.ask('PATCH', PATH, { token, json })
  expect(changed.status).toBe(200)
  const expected = {
    ...user,
    profile: { ...user.profile, name: 'Bob', timezone: 'America/New_York', currency: 'eur' },
    onboardingCompleted: true,
  }
  expect(changed.json).toEqual({ code: 'ok', response: expected })
  const unchanged = await app.ask('PATCH', PATH, { token, json: {} })
  expect(unchanged.json.response).toEqual(expected)
  expect((await app.ask('GET', PATH, { token })).json.response).toEqual(expected)
})

test.each(Object.entries(PROFILE_FIELDS).filter(([name]) => name !== 'avatarKey'))(
  'a patch changes %s',
  async (name, { examples }) => {
    await using app = await createTestApp()
    const { accessToken: token, user } = await app.register()
    const json = { profile: { [name]: examples?.[0] } }
    const { profile } = (await app.ask('PATCH', PATH, { token, json })).json.response
    expect(profile[name]).not.toEqual(user.profile[name])
  },
)

test('null restores the default value', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register()
  await app.ask('PATCH', PATH, {
    token,
    json: {
      profile: { name: 'B', locale: 'de', timezone: 'Asia/Tokyo', currency: 'jpy' },
      onboardingCompleted: true,
    },
  })
  const restored = await app.ask('PATCH', PATH, {
    token,
    json: {
      profile: { name: null, locale: null, timezone: null, currency: null },
      onboardingCompleted: null,
    },
  })
  expect(restored.json.response).toEqual(user)
})

test.each([
  ['an invalid language', { profile: { locale: 'not a tag' } }, 'profile.locale'],
  ['an unknown time zone', { profile: { timezone: 'Mars/Base' } }, 'profile.timezone'],
  ['an impossible offset', { profile: { timezone: '+24:00' } }, 'profile.timezone'],
  ['a withdrawn currency', { profile: { currency: 'dem' } }, 'profile.currency'],
  ['a name of 101 characters', { profile: { name: 'x'.repeat(101) } }, 'profile.name'],
  ['a number for a name', { profile: { name: 7 } }, 'profile.name'],
  [`an _id ${fault(77)}`, { _id: 'another' }, '_id'],
  [`a login type ${fault(77)}`, { loginType: 'google' }, 'loginType'],
  [`an e-mail address ${fault(77)}`, { email: 'x@example.com' }, 'email'],
  [`two-factor ${fault(77)}`, { twoFactor: { enabled: true } }, 'twoFactor'],
  [`a date ${fault(77)}`, { createdAt: 0 }, 'createdAt'],
  ['an unknown field of the profile', { profile: { admin: true } }, 'profile.admin'],
])('refuses %s and changes nothing', async (_what, json, path) => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register()
  const refused = await app.ask('PATCH', PATH, { token, json })
  expect(refused.status).toBe(422)
  expect(refused.json.code).toBe('validation_failed')
  expect(refused.json.details.map((detail: { path: string }) => detail.path)).toContain(path)
  expect((await app.ask('GET', PATH, { token })).json.response).toEqual(user)
})

test(`a name with emoji, bidi marks and combining letters comes back exactly ${fault(49)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  for (const name of ['Zoë 🙂👩‍👩‍👧', 'שלום\u202eabc', 'e\u0301', '中文', '"\\\n']) {
    const { json } = await app.ask('PATCH', PATH, { token, json: { profile: { name } } })
    expect(json.response.profile.name).toBe(name)
  }
})

test(`refuses U+0000, which not every database can store ${fault(49)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const json = { profile: { name: 'a\0b' } }
  const reply = await app.ask('PATCH', PATH, { token, json })
  expect([reply.status, reply.json.code]).toEqual([422, 'validation_failed'])
})

test('deleting an account ends its sessions, deletes its files and frees its address', async () => {
  await using app = await createTestApp()
  const { accessToken: token, refreshToken } = await app.register('gone@example.com')
  const uploaded = await app.ask('POST', '/api/user/attachments/v1?type=supportTicket', {
    token,
    body: 'a line of log',
    headers: { 'content-type': 'text/plain' },
  })
  const url = new URL(uploaded.json.response[0].url)
  const removed = await app.ask('DELETE', PATH, { token })
  expect(removed.status).toBe(200)
  expect(Object.keys(removed.json)).toEqual(['code', 'message'])

  expect((await app.ask('GET', PATH, { token })).status).toBe(401)
  const refreshed = await app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
  expect(refreshed.status).toBe(401)
  expect((await app.ask('GET', url.pathname + url.search)).status).toBe(404)
  expect(await filesOf(app)).toEqual([])
  const { users, sessions, refreshTokens, attachments } = app.services.db.tables
  for (const table of [users, sessions, refreshTokens, attachments]) {
    expect(await app.services.db.read.$count(table)).toBe(0)
  }
  expect((await app.register('gone@example.com')).user.email).toBe('gone@example.com')
})

test('a profile of null restores every default value (RFC 7396)', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const path = '/api/user/profile/v1'
  const profile = { name: 'Ann', locale: 'de', timezone: 'Europe/Berlin', currency: 'eur' }
  await app.ask('PATCH', path, { token, json: { profile } })
  const headers = { 'accept-language': 'fr', timezone: 'Asia/Tokyo' }
  const restored = await app.ask('PATCH', path, { token, json: { profile: null }, headers })
  expect(restored.json.response.profile).toEqual({
    name: '',
    locale: 'fr',
    timezone: 'Asia/Tokyo',
    avatarUrl: null,
    currency: 'usd',
  })
})

test('an error about an invalid choice lists the allowed values', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { details } = (
    await app.ask('PATCH', '/api/user/profile/v1', { token, json: { profile: 7 } })
  ).json
  expect(details).toEqual([{ path: 'profile', message: 'must be an object or null' }])
  const upload = await app.ask('POST', '/api/user/attachments/v1?type=x&compression=maybe', {
    token,
  })
  expect(upload.json.details).toEqual([
    { path: 'type', message: 'must be one of supportTicket, publicAsset' },
    { path: 'compression', message: 'must be true or false' },
  ])
})

test('an error about a field has a message that a form can show', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const json = { profile: { name: 'x'.repeat(101) }, onboardingCompleted: 'yes' }
  const { details } = (await app.ask('PATCH', '/api/user/profile/v1', { token, json })).json
  expect(details).toEqual([
    { path: 'profile.name', message: 'must be text of at most 100 characters, or null' },
    { path: 'onboardingCompleted', message: 'must be true, false or null' },
  ])
  const missing = await app.ask('POST', '/api/auth/login/v1', { json: { password: 'x' } })
  expect(missing.json.details).toEqual([{ path: 'email', message: 'is required' }])
})

test.each([
  ['Accept-Language', { 'accept-language': 'de_AT.UTF-8, en;q=0.5' }, { locale: 'de-AT' }],
  ['Accept-Language with a script', { 'accept-language': 'zh_Hans_CN' }, { locale: 'zh-Hans-CN' }],
  ['a fixed offset', { timezone: 'GMT+05:30' }, { timezone: '+05:30' }],
  ['a time zone in lower case', { timezone: 'europe/berlin' }, { timezone: 'Europe/Berlin' }],
])('a new account takes %s from the headers', async (_what, headers, expected) => {
  await using app = await createTestApp()
  const { user } = (await app.ask('POST', '/api/auth/guest/v1', { headers })).json.response
  expect(user.profile).toMatchObject(expected)
})

test('a patch accepts a language with underscores and a fixed offset', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const json = { profile: { locale: 'zh_Hans_CN', timezone: 'UTC+2' } }
  const { profile } = (await app.ask('PATCH', PATH, { token, json })).json.response
  expect(profile).toMatchObject({ locale: 'zh-Hans-CN', timezone: '+02:00' })
})

test('a time zone stored in lower case has IANA’s spelling wherever it is read', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register()
  const { db, profile } = app.services
  const { users } = db.tables
  await db.write((tx) => tx.update(users).set({ timezone: 'america/port_of_spain' }))
  const timezone = 'America/Port_of_Spain'
  expect((await app.ask('GET', PATH, { token })).json.response.profile).toMatchObject({ timezone })
  const exported = await app.ask('GET', '/api/user/export/v1', { token })
  expect(exported.json.response.user.profile).toMatchObject({ timezone })
  const ask = await serverClient(app)
  const read = await ask('GET', `users/v1/${user._id}`)
  expect(read.json.response.profile).toMatchObject({ timezone })
  expect((await profile.read(user._id, '')).profile.timezone).toBe(timezone)
})

test('accepts its own response as a patch, and refuses other values of read-only fields', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const uploaded = await uploadBody(app, token, await phonePhoto(), 'image/jpeg', 'publicAsset')
  const [picture] = uploaded.json.response
  await app.ask('PATCH', PATH, { token, json: { profile: { avatarKey: picture.key } } })
  const read = (await app.ask('GET', PATH, { token })).json.response
  const same = await app.ask('PATCH', PATH, { token, json: read })
  expect([same.status, same.json.response]).toEqual([200, read])
  const renamed = { ...read, profile: { ...read.profile, name: 'Bea' } }
  expect((await app.ask('PATCH', PATH, { token, json: renamed })).json.response).toEqual(renamed)
  const others: [object, string][] = [
    [{ _id: 'x' }, '_id'],
    [{ email: null }, 'email'],
    [{ emailVerified: true }, 'emailVerified'],
    [{ twoFactor: { ...read.twoFactor, recoveryCodesLeft: 1 } }, 'twoFactor'],
    [{ profile: { ...read.profile, avatarUrl: null } }, 'profile.avatarUrl'],
  ]
  for (const [other, path] of others) {
    const refused = await app.ask('PATCH', PATH, { token, json: { ...renamed, ...other } })
    expect([refused.status, refused.json.details]).toEqual([
      422,
      [{ path, message: 'cannot be changed' }],
    ])
  }
})

test('other servers can also send back the user that they read', async () => {
  await using app = await createTestApp()
  const { user } = await app.register()
  const ask = await serverClient(app)
  const read = (await ask('GET', `users/v1/${user._id}`)).json.response
  const same = await ask('PATCH', `users/v1/${user._id}`, { json: read })
  expect([same.status, same.json.response]).toEqual([200, read])
  const other = await ask('PATCH', `users/v1/${user._id}`, { json: { ...read, createdAt: '' } })
  expect(other.json.details).toEqual([{ path: 'createdAt', message: 'cannot be changed' }])
})

test('read-only fields are not documented in requests', async () => {
  await using app = await createTestApp()
  const { components } = (await app.ask('GET', '/docs/json')).json
  const { ProfileChanges } = components.schemas
  expect(Object.keys(ProfileChanges.properties)).not.toContain('avatarUrl')
  expect(JSON.stringify(components)).not.toContain('readOnly')
})
