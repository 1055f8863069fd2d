import { describe, expect, test } from 'bun:test'
import seed from '../../../data/seed/settings.json' with { type: 'json' }
import type { StoredSettings } from '../../../src/features/settings/model.ts'
import { listSettings, overridesFor } from '../../../src/features/settings/rules/resolution.ts'
import { sha256 } from '../../../src/lib/crypto/hash.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { serveApp } from '../../support/served.ts'

type Features = StoredSettings['features']
type When = Features[string]['rules'][number]['when']

const PATH = '/api/user/app_settings/v1'
const HALF: Features = { half: { value: false, rules: [{ when: { percent: 50 }, value: true }] } }
const ALL_HEADERS = {
  'app-platform': 'ios',
  'app-version': '2.4.0',
  'accept-language': 'pt-BR',
  'device-id': 'device-1',
  'cf-ipcountry': 'BR',
}

describe('without a condition', () => {
  test('the response is byte-identical for every client', async () => {
    await using app = await createTestApp({ COUNTRY_HEADER: 'CF-IPCountry' })
    const { accessToken: token } = await app.register()
    const body = JSON.stringify({ code: 'ok', response: seed })
    const etag = `"${sha256(body).slice(0, 22)}"`
    for (const init of [{}, { headers: ALL_HEADERS }, { token }, { token, headers: ALL_HEADERS }]) {
      const { text, headers } = await app.ask('GET', PATH, init)
      expect(text).toBe(body)
      expect(headers.get('etag')).toBe(etag)
      expect(headers.get('vary')).toBeNull()
      expect(headers.get('cache-control')).toBe('public, max-age=0')
    }
  })

  test('custom settings are the same for everyone', async () => {
    await using app = await createTestApp()
    await app.services.settings.set({ 'features.limit': 7, 'features.paywall': 'soft' })
    const plain = await app.ask('GET', PATH)
    expect(plain.json.response.features).toEqual({ limit: 7, paywall: 'soft' })
    expect(plain.headers.get('vary')).toBeNull()
    const { text, headers } = await app.ask('GET', PATH, { headers: ALL_HEADERS })
    expect([text, headers.get('etag')]).toEqual([plain.text, plain.headers.get('etag')])
  })

  test('the response is the original one again once a condition is removed', async () => {
    await using app = await createTestApp()
    const before = await app.ask('GET', PATH)
    await publish(app, HALF)
    expect((await app.ask('GET', PATH)).text).not.toBe(before.text)
    await publish(app, {})
    const { text, headers } = await app.ask('GET', PATH)
    expect([text, headers.get('etag')]).toEqual([before.text, before.headers.get('etag')])
  })
})

test.each<[Record<string, string>, string]>([
  [{ device: 'android' }, 'some'],
  [{ device: 'Android 14' }, 'some'],
  [{ device: 'android', 'app-platform': 'unknown' }, 'some'],
  [{ device: 'android', 'app-platform': 'ios' }, 'all'],
  [{ device: 'ios' }, 'all'],
  [{}, 'all'],
])('the device header %j names the platform where App-Platform does not', async (headers, own) => {
  await using app = await createTestApp()
  const rules = [{ when: { platform: 'android' } as const, value: 'some' }]
  await publish(app, { own: { value: 'all', rules } })
  const reply = await app.ask('GET', PATH, { headers })
  expect(reply.json.response.features).toEqual({ own })
  const isStated = headers['app-platform'] === 'ios'
  expect(reply.headers.get('vary')).toBe(isStated ? 'App-Platform' : 'App-Platform, Device')
})

test.each<[When, string, string]>([
  [{ platform: 'ios' }, 'App-Platform', 'public'],
  [{ minVersion: '1' }, 'App-Version', 'public'],
  [{ maxVersion: '3' }, 'App-Version', 'public'],
  [{ languages: ['pt'] }, 'Accept-Language', 'public'],
  [{ percent: 100 }, 'Authorization, Device-Id', 'private'],
  [{ platform: 'ios', languages: ['pt'] }, 'App-Platform, Accept-Language', 'public'],
  [{ percent: 100, platform: 'ios' }, 'App-Platform, Authorization, Device-Id', 'private'],
])('with the condition %j the response varies by %s and is %s', async (when, vary, cache) => {
  await using app = await createTestApp()
  await publish(app, { own: { value: 'all', rules: [{ when, value: 'some' }] } })
  const matching = await app.ask('GET', PATH, { headers: ALL_HEADERS })
  expect(matching.json.response.features).toEqual({ own: 'some' })
  expect(matching.headers.get('vary')).toBe(vary)
  expect(matching.headers.get('cache-control')).toBe(`${cache}, max-age=0`)
  const isForAll = 'percent' in when && Object.keys(when).length === 1
  if (isForAll) return
  const other = await app.ask('GET', PATH)
  expect(other.json.response.features).toEqual({ own: 'all' })
  expect(other.headers.get('etag')).not.toBe(matching.headers.get('etag'))
  // Without App-Platform, the device header may name the platform.
  expect(other.headers.get('vary')).toBe(vary.replace('App-Platform', 'App-Platform, Device'))
  expect(other.text).not.toContain('rules')
})

test('a rule without conditions applies to everyone', async () => {
  await using app = await createTestApp()
  await publish(app, { own: { value: 'all', rules: [{ when: {}, value: 'every one' }] } })
  const { json, headers } = await app.ask('GET', PATH)
  expect(json.response.features).toEqual({ own: 'every one' })
  expect(headers.get('vary')).toBeNull()
})

describe('a country', () => {
  const features: Features = {
    own: { value: 0, rules: [{ when: { countries: ['BR'] }, value: 1 }] },
  }
  const PROXY = { COUNTRY_HEADER: 'X-Country', TRUSTED_PROXIES: '127.0.0.1' }

  test('is read from the header that COUNTRY_HEADER names', async () => {
    await using app = await createTestApp(PROXY)
    await publish(app, features)
    await using served = serveApp(app)
    expect(await readOwn(served, { 'x-country': 'br' })).toEqual([1, 'X-Country'])
    expect(await readOwn(served, { 'x-country': 'PT' })).toEqual([0, 'X-Country'])
    // A cache in front of that proxy sees no such header.
    expect((await served.ask(PATH)).headers.get('cache-control')).toBe('private, max-age=0')
    expect(await readOwn(served, { 'cf-ipcountry': 'BR' })).toEqual([0, 'X-Country'])
  })

  test('is ignored without COUNTRY_HEADER', async () => {
    await using app = await createTestApp({ TRUSTED_PROXIES: '127.0.0.1' })
    await publish(app, features)
    await using served = serveApp(app)
    const headers = { 'x-country': 'BR', 'cf-ipcountry': 'BR' }
    expect(await readOwn(served, headers)).toEqual([0, null])
  })

  test('is accepted only from a trusted proxy, and an ignored one is logged once', async () => {
    await using app = await createTestApp({ ...PROXY, TRUSTED_PROXIES: '192.0.2.1' })
    await publish(app, features)
    await using served = serveApp(app)
    for (let times = 0; times < 2; times++) {
      expect(await readOwn(served, { 'x-country': 'BR' })).toEqual([0, 'X-Country'])
    }
    const warning = 'X-Country from 127.0.0.1 is ignored: it is not in TRUSTED_PROXIES'
    expect(app.lines.filter((line) => line.includes(warning))).toHaveLength(1)
  })

  /** Returns the value and the Vary header. */
  async function readOwn(served: ReturnType<typeof serveApp>, headers: Record<string, string>) {
    const reply = await served.ask(PATH, headers)
    const { response } = (await reply.json()) as { response: { features: { own: number } } }
    return [response.features.own, reply.headers.get('vary')]
  }
})

test('reads the leading numbers of a version, and ignores an invalid version or platform', async () => {
  await using app = await createTestApp()
  const rules = [
    { when: { minVersion: '1' }, value: 'new' },
    { when: { platform: 'android' as const }, value: 'android' },
  ]
  await publish(app, { own: { value: 'all', rules } })
  for (const [headers, value] of [
    [{ 'app-version': '1.0' }, 'new'],
    [{ 'app-version': '0.9' }, 'all'],
    [{ 'app-version': 'v1.0.2-beta.1' }, 'new'],
    [{ 'app-version': '2.4.0+12' }, 'new'],
    [{ 'app-version': '0.9 (12)' }, 'all'],
    [{ 'app-version': '1.x' }, 'new'],
    [{ 'app-version': '1.2.3.4.5' }, 'new'],
    [{ 'app-version': '1.9.3(231)' }, 'new'],
    [{ 'app-version': '1.9u1' }, 'new'],
    [{ 'app-version': '0.9.3.RELEASE' }, 'all'],
    [{ 'app-version': '20261128093000' }, 'new'],
    [{ 'app-version': '9'.repeat(400) }, 'all'],
    [{ 'app-version': 'dev' }, 'all'],
    [{ 'app-platform': 'Android' }, 'android'],
    [{ 'app-platform': 'android 15' }, 'all'],
  ] as const) {
    const { json } = await app.ask('GET', PATH, { headers })
    expect([headers, json.response.features.own]).toEqual([headers, value])
  }
})

test('uses the user id on all devices, and the device id only without a session', async () => {
  await using app = await createTestApp()
  await publish(app, HALF)
  const { accessToken, refreshToken, user } = await app.register()
  const isUserIn = isIn(user._id)
  const device = deviceInHalf(!isUserIn)
  const ask = async (token: string | undefined, id: string) => {
    const headers: Record<string, string> = { 'device-id': id }
    const init = token === undefined ? { headers } : { token, headers }
    return (await app.ask('GET', PATH, init)).json.response.features.half
  }
  expect(await ask(accessToken, device)).toBe(isUserIn)
  expect(await ask(accessToken, deviceInHalf(isUserIn))).toBe(isUserIn)
  expect(await ask(undefined, device)).toBe(!isUserIn)
  for (const token of ['', 'x', refreshToken]) expect(await ask(token, device)).toBe(!isUserIn)
  await app.ask('POST', '/api/auth/logout/v1', { token: accessToken })
  expect(await ask(accessToken, device)).toBe(!isUserIn)
})

test('a plain request with the token of a sealed session gets the values of the device', async () => {
  await using app = await createTestApp({}, { mode: 'sealed' })
  await publish(app, HALF)
  const { accessToken: token, user } = await app.register()
  const isUserIn = isIn(user._id)
  const headers = { env: 'test', 'device-id': deviceInHalf(!isUserIn) }
  const { status, json } = await app.ask('GET', PATH, { token, headers })
  expect([status, json.response?.features.half]).toEqual([200, !isUserIn])
})

test("returns 304 for the ETag of the same variant, but not for another variant's", async () => {
  await using app = await createTestApp()
  await publish(app, HALF)
  const asks = [true, false].map((isIncluded) => ({ 'device-id': deviceInHalf(isIncluded) }))
  const [mine, other] = await Promise.all(asks.map((headers) => app.ask('GET', PATH, { headers })))
  const [tag = '', otherTag = ''] = [mine, other].map((one) => one?.headers.get('etag') ?? '')
  expect(tag).not.toBe(otherTag)
  const headers = { ...asks[0], 'if-none-match': tag }
  const again = await app.ask('GET', PATH, { headers })
  expect([again.status, again.text]).toEqual([304, ''])
  expect(again.headers.get('vary')).toBe('Authorization, Device-Id')
  expect(again.headers.get('cache-control')).toBe('private, max-age=0')
  const foreign = await app.ask('GET', PATH, { headers: { ...headers, 'if-none-match': otherTag } })
  expect([foreign.status, foreign.text]).toEqual([200, mine?.text ?? ''])
})

test('the value of a rule must have the type of its setting', async () => {
  await using app = await createTestApp()
  const rule = (value: string | number | boolean) => ({ when: {}, value })
  const mixed = { own: { value: 1, rules: [rule(2), rule('three'), rule(true)] } }
  const error = await publish(app, mixed).catch((thrown) => thrown)
  const message = 'must be of the same type as the default value: number'
  expect(error.details).toEqual([
    { path: 'settings.features.own.rules.1.value', message },
    { path: 'settings.features.own.rules.2.value', message },
  ])
})

test.each([
  [{ platform: 'windows' }],
  [{ minVersion: 'two' }],
  [{ countries: ['br'] }],
  [{ languages: ['portuguese brazil'] }],
  [{ percent: 101 }],
  [{ percent: -1 }],
  [{ unknown: 1 }],
])('the condition %j is refused', async (when) => {
  await using app = await createTestApp()
  const features = { own: { value: 1, rules: [{ when, value: 2 }] } }
  await expect(publish(app, features as Features)).rejects.toMatchObject({
    code: 'validation_failed',
  })
})

async function publish({ services }: TestApp, features: Features) {
  const { content } = await services.settings.readLive()
  await services.settings.publish({ ...content, features }, { author: null, note: '' })
}

function isIn(id: string): boolean {
  const audience = { platform: null, version: null, languages: [], country: null, plan: null, id }
  const settings = listSettings({ ...(seed as Omit<StoredSettings, 'features'>), features: HALF })
  return overridesFor(settings, audience)['features.half'] === true
}

/** A device id that is in the rollout of `HALF`, or one that is not. */
function deviceInHalf(isIncluded: boolean): string {
  for (let at = 0; ; at++) if (isIn(`device-${at}`) === isIncluded) return `device-${at}`
}
