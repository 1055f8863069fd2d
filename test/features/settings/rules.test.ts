import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import type { StoredSettings } from '../../../src/features/settings/model.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'
import { serveApp } from '../../support/served.ts'

type Rules = NonNullable<StoredSettings['rules']>

const PATH = '/api/user/app_settings/v1'
const PROXY = { COUNTRY_HEADER: 'X-Country', TRUSTED_PROXIES: '127.0.0.1' }
/** A minimum version for 20% of users in Germany, once it is in the store. */
const GERMANY: Rules = {
  'ios.supportedVersion': [{ when: { countries: ['DE'], percent: 20 }, value: '3.2' }],
}
const ANYONE = {
  platform: null,
  version: null,
  languages: [],
  country: null,
  plan: null,
  id: null,
}

test('two apps get different minimum versions, each with its own ETag', async () => {
  await using app = await createTestApp(PROXY)
  await publish(app, GERMANY, { 'ios.latestVersion': '3.2' })
  await using served = serveApp(app)
  const versions = new Map<string, string>()
  for (let device = 0; device < 40; device++) {
    for (const country of ['DE', 'AT']) {
      const reply = await served.ask(PATH, { 'x-country': country, 'device-id': `d${device}` })
      const { response } = (await reply.json()) as { response: StoredSettings }
      expect(response).not.toHaveProperty('rules')
      expect(reply.headers.get('vary')).toBe('X-Country, Authorization, Device-Id')
      expect(reply.headers.get('cache-control')).toBe('private, max-age=0')
      const { supportedVersion } = response.ios
      if (country === 'AT') expect(supportedVersion).toBe('1.0.0')
      versions.set(supportedVersion, reply.headers.get('etag') ?? '')
    }
  }
  expect([...versions.keys()].toSorted()).toEqual(['1.0.0', '3.2'])
  expect(new Set(versions.values()).size).toBe(2)
})

test('settings of one platform include the same users in a percentage', async () => {
  await using app = await createTestApp()
  const half = (value: string | number) => [{ when: { percent: 50 }, value }]
  const rules = {
    'ios.latestVersion': half('2.0.0'),
    'ios.latestBuildNumber': half(20),
    'ios.supportedVersion': half('2.0.0'),
  }
  await publish(app, rules)
  const seen = new Set<string>()
  for (let device = 0; device < 40; device++) {
    const headers = { 'device-id': `d${device}` }
    const { ios } = (await app.ask('GET', PATH, { headers })).json.response
    seen.add([ios.latestVersion, ios.latestBuildNumber, ios.supportedVersion].join(' '))
  }
  expect([...seen].toSorted()).toEqual(['1.0.0 1 1.0.0', '2.0.0 20 2.0.0'])
})

test('the maintenance mode can be on for old versions of one platform', async () => {
  await using app = await createTestApp()
  const when = { platform: 'android', belowVersion: '2.0' } as const
  await publish(app, { underMaintenance: [{ when, value: true }] })
  const isUnderMaintenance = async (platform: string, version: string) => {
    const headers = { 'app-platform': platform, 'app-version': version }
    const reply = await app.ask('GET', PATH, { headers })
    expect(reply.headers.get('vary')).toBe('App-Platform, App-Version')
    expect(reply.headers.get('cache-control')).toBe('public, max-age=0')
    return reply.json.response.underMaintenance
  }
  expect(await isUnderMaintenance('android', '1.9.9')).toBe(true)
  expect(await isUnderMaintenance('android', '2.0')).toBe(false)
  expect(await isUnderMaintenance('ios', '1.9.9')).toBe(false)
})

test('a rule that depends on the plan follows a purchase immediately, and never matches without a session', async () => {
  await using app = await createTestApp()
  await publish(app, {
    hardPaywall: [
      { when: { plans: ['pro_month'] }, value: false },
      { when: { plans: ['free'] }, value: true },
    ],
  })
  const { accessToken: token, user } = await app.register()
  const ask = async (init: { token?: string }) => {
    const reply = await app.ask('GET', PATH, init)
    expect(reply.headers.get('vary')).toBe('Authorization')
    expect(reply.headers.get('cache-control')).toBe('private, max-age=0')
    return reply.json.response.hardPaywall
  }
  expect([await ask({}), await ask({ token }), await ask({ token: 'x' })]).toEqual([
    false,
    true,
    false,
  ])
  const support = { by: 'ann', reason: 'A test' }
  const grant = { userId: user._id, entitlementId: 'pro_month', until: null, ...support }
  await app.services.grants.create(grant)
  expect(await ask({ token })).toBe(false)
})

describe('publishing', () => {
  test.each<[object, string]>([
    [{ 'ios.supportedVersion': rule({}, 'two') }, 'ios.supportedVersion.0.value'],
    [{ 'ios.latestBuildNumber': rule({}, '2') }, 'ios.latestBuildNumber.0.value'],
    [{ underMaintenance: rule({}, 'yes') }, 'underMaintenance.0.value'],
    [{ termsUrl: rule({}, 'javascript:alert(1)') }, 'termsUrl.0.value'],
    [{ termsUrl: rule({}, 'javascript:alert(1)'), privacyUrl: [] }, 'termsUrl.0.value'],
    [{ supportEmail: rule({}, 'nowhere') }, 'supportEmail.0.value'],
    [{ hardPaywall: rule({ countries: ['Germany'] }, true) }, 'hardPaywall.0.when.countries.0'],
    [{ hardPaywall: rule({ percent: 101 }, true) }, 'hardPaywall.0.when.percent'],
    [{ hardPaywall: rule({ belowVersion: 'x' }, true) }, 'hardPaywall.0.when.belowVersion'],
    [{ unknown: rule({}, 1) }, 'unknown'],
    [{ features: rule({}, 1) }, 'features'],
    [{ hardPaywall: Array(21).fill(rule({}, true)[0]) }, 'hardPaywall'],
  ])('refuses the rules %j and names the field', async (rules, path) => {
    await using app = await createTestApp()
    const error = await publish(app, rules as Rules).catch((thrown) => thrown)
    expect(error.details.map((detail: { path: string }) => detail.path)).toEqual([
      `settings.rules.${path}`,
    ])
    expect((await app.services.settings.readLive()).version).toBe(0)
  })

  const LATEST = { 'ios.latestVersion': rule({ countries: ['DE'] }, '3.2') }
  test.each<[string, object, string | null]>([
    ['above the latest one', { 'ios.supportedVersion': rule({}, '3.2') }, 'supportedVersion.0'],
    [
      'that fewer users can install',
      { ...LATEST, 'ios.supportedVersion': rule({ countries: ['DE', 'AT'] }, '3.2') },
      'supportedVersion.0',
    ],
    [
      'that these users can install',
      { ...LATEST, 'ios.supportedVersion': rule({ countries: ['DE'], percent: 20 }, '3.2') },
      null,
    ],
    [
      'that only other platforms have',
      { 'ios.supportedVersion': rule({ platform: 'android' }, '3.2') },
      null,
    ],
    [
      'whose latest version is lower for some',
      { 'ios.latestVersion': rule({ languages: ['de'] }, '0.9') },
      '',
    ],
  ])('checks a minimum version %s', async (_name, rules, refused) => {
    await using app = await createTestApp()
    const error = await publish(app, rules as Rules).catch((thrown) => thrown)
    const paths = error?.details?.map((detail: { path: string }) => detail.path) ?? null
    if (refused === null) expect(error).toBeUndefined()
    else if (refused === '') expect(paths).toEqual(['settings.ios.supportedVersion'])
    else expect(paths).toEqual([`settings.rules.ios.${refused}.value`])
  })

  test.each<[string, object, string[]]>([
    ['of another version', { percent: 20 }, []],
    ['of the same version for some', { countries: ['DE'] }, ['settings.ios.supportedBuildNumber']],
  ])('compares build numbers with those %s', async (_name, when, refused) => {
    await using app = await createTestApp()
    await app.services.settings.set({ 'ios.latestBuildNumber': 9, 'ios.supportedBuildNumber': 5 })
    const rules = {
      'ios.latestVersion': rule({ percent: 20 }, '3.2'),
      'ios.latestBuildNumber': rule(when, 1),
    }
    const error = await publish(app, rules as Rules).catch((thrown) => thrown)
    const paths = error?.details?.map((detail: { path: string }) => detail.path) ?? []
    expect(paths).toEqual(refused)
  })

  test('stores no empty rules, and removes deleted ones', async () => {
    await using app = await createTestApp()
    const { settings } = app.services
    const before = await settings.read()
    const reply = await app.ask('GET', PATH)
    await publish(app, { hardPaywall: rule({}, true), termsUrl: [] } as Rules)
    expect((await settings.read()).rules).toEqual({ hardPaywall: rule({}, true) } as Rules)
    await publish(app, { hardPaywall: [] })
    expect(await settings.read()).toEqual(before)
    expect((await app.ask('GET', PATH)).text).toBe(reply.text)
  })
})

test('settings, publications and exports from before there were rules still work', async () => {
  await using app = await createTestApp()
  const { db, settings } = app.services
  const old = { minBuildNumber: { value: 1, rules: [{ when: { maxVersion: '2' }, value: 2 }] } }
  const stored = db.tables.settings
  await db.write((tx) => tx.update(stored).set({ value: old }).where(eq(stored.key, 'features')))
  await settings.set({ hardPaywall: true })
  const headers = { 'app-version': '2.0' }
  expect((await app.ask('GET', PATH, { headers })).json.response.features).toEqual({
    minBuildNumber: 2,
  })
  await publish(app, { termsUrl: rule({}, 'https://example.com/new') } as Rules)
  expect((await settings.rollBack(2)).content).not.toHaveProperty('rules')
  expect((await app.ask('GET', PATH)).json.response.termsUrl).toBe('https://example.com/terms')
})

test('a file with rules is imported, listed in words and explained by commands', async () => {
  await using app = await createTestApp()
  const { printed } = await runCommand(app, 'settings export')
  const file = join(app.dataDir, 'settings.json')
  const edited = JSON.parse(printed)
  edited.ios.latestVersion = '3.2'
  await Bun.write(file, JSON.stringify({ ...edited, rules: GERMANY }))
  const warning =
    'ios.supportedVersion, rule 1 never applies, because COUNTRY_HEADER is not set: the country of users is unknown.'
  const imported = await runCommand(app, 'settings import', [file])
  expect(imported.printed).toEndWith(`\nWarning: ${warning}`)
  expect(imported.outcome.warnings).toEqual([warning])
  const history = await runCommand(app, 'settings get', [], { history: true })
  expect(history.printed).toContain(
    '\tios.supportedVersion, rule 1: null → "3.2" in Germany for 20% of users',
  )
  const options = { platform: 'iOS', appVersion: '3.1', country: 'at', id: 'device-1' }
  const explained = await runCommand(app, 'settings explain', [], options)
  expect(explained.printed.split('\n')).toEqual([
    'ios.supportedVersion=1.0.0',
    expect.stringMatching(/^ {2}Rule 1 did not match: country is AT, the rule requires DE/),
    '  The default value applies.',
    `Warning: ${warning}`,
  ])
  const [own] = (await runCommand(app, 'settings explain', ['termsUrl'])).outcome.settings
  expect(own).toEqual({ key: 'termsUrl', value: 'https://example.com/terms', reasons: [] })
  await expect(runCommand(app, 'settings explain', ['nothing'])).rejects.toMatchObject({
    code: 'not_found',
  })
  await expect(runCommand(app, 'settings explain', [], { appVersion: 'new' })).rejects.toThrow(
    '--app-version must be a version',
  )
})

test('the preview explains unpublished settings, and names their invalid fields', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { content } = await ann.read('settings')
  const preview = (rules: object) => {
    const json = { content: { ...content, rules }, as: { ...ANYONE, plan: 'free' } }
    return ann.ask('POST', 'preview/settings', { json })
  }
  const { response } = (await preview({ hardPaywall: rule({ plans: ['free'] }, true) })).json
  expect(response).toHaveLength(15)
  expect(response).toContainEqual({
    key: 'hardPaywall',
    value: true,
    reasons: ['Rule 1 matched: plan is free.'],
  })
  const refused = await preview({ hardPaywall: rule({}, 'yes') })
  expect([refused.status, refused.json.details[0].path]).toEqual([
    422,
    'settings.rules.hardPaywall.0.value',
  ])
  const json = { content: { ...content, rules: GERMANY } }
  json.content.ios = { ...content.ios, latestVersion: '3.2' }
  const warnings = await ann.ask('POST', 'preview/settings/warnings', { json })
  expect(warnings.json.response).toEqual([expect.stringContaining('COUNTRY_HEADER is not set')])
  expect(await ann.read('settings/surroundings')).toMatchObject({
    countryHeader: null,
    plans: [{ code: 'free', name: 'Free' }, { code: 'pro_month' }, { code: 'pro_year' }],
  })
  expect((await ann.read('settings')).version).toBe(0)
})

function rule(when: object, value: unknown) {
  return [{ when, value }]
}

async function publish({ services }: TestApp, rules: Rules, changes: Record<string, unknown> = {}) {
  if (Object.keys(changes).length > 0) await services.settings.set(changes)
  const { content } = await services.settings.readLive()
  await services.settings.publish({ ...content, rules }, { author: null, note: '' })
}
