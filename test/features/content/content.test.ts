import { expect, test } from 'bun:test'
import { AppError } from '../../../src/lib/errors.ts'
import { createTestApp } from '../../support/app.ts'

const SETTINGS = '/api/user/app_settings/v1'
const PLANS = '/api/user/pricing_plans/v1'
const VERSIONS = '/api/user/content_version/v1'
const FAQS = '/api/user/faqs/v1'
const RATES = '/api/user/currency_rates/v1'

test.each([
  [SETTINGS, 0],
  [PLANS, 0],
  [RATES, 300],
  [VERSIONS, 30],
  [FAQS, 0],
])('%s may be cached for %d s and returns 304 for a matching ETag', async (path, maxAge) => {
  await using app = await createTestApp()
  const first = await app.ask('GET', path)
  expect(first.status).toBe(200)
  expect(first.json.code).toBe('ok')
  expect(first.headers.get('cache-control')).toBe(`public, max-age=${maxAge}`)
  const etag = first.headers.get('etag') ?? ''
  for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await app.ask('GET', path, { headers: { 'if-none-match': tag } })
    expect([again.status, again.text]).toEqual([304, ''])
    expect(again.headers.get('etag')).toBe(etag)
  }
  expect((await app.ask('GET', path, { headers: { 'if-none-match': '"x"' } })).status).toBe(200)
})

test('a fresh server has settings, a free plan, two paid ones, FAQs and rates', async () => {
  await using app = await createTestApp()
  const settings = (await app.ask('GET', SETTINGS)).json.response
  expect(Object.keys(settings).toSorted()).toEqual([
    'android',
    'appStoreLink',
    'hardPaywall',
    'ios',
    'playStoreLink',
    'privacyUrl',
    'supportEmail',
    'termsUrl',
    'underMaintenance',
  ])
  const plans = (await app.ask('GET', PLANS)).json.response
  expect(plans.map(({ code }: { code: string }) => code)).toEqual(['free', 'pro_month', 'pro_year'])
  for (const plan of plans) expect(Object.keys(plan)).toHaveLength(plan.code === 'free' ? 25 : 26)
  const rates = (await app.ask('GET', RATES)).json.response
  expect(rates).toMatchObject({ baseCode: 'USD', updatedAt: '2026-07-06T14:00:00.000Z' })
  expect(rates.rates).toMatchObject({ USD: 1, EUR: 0.876040297854, SAR: 3.75 })
  expect((await app.ask('GET', VERSIONS)).json.response).toEqual({ appSetting: 1, faqs: 1 })
})

test('a setting’s e-mail address is trimmed', async () => {
  await using app = await createTestApp()
  await app.services.settings.set({ supportEmail: ' help@example.com\u200b' })
  expect((await app.ask('GET', SETTINGS)).json.response.supportEmail).toBe('help@example.com')
})

test('a changed setting is visible immediately, with a new ETag and counter', async () => {
  await using app = await createTestApp()
  const before = await app.ask('GET', SETTINGS)
  await app.services.settings.set({ 'ios.latestVersion': '2.4.0', underMaintenance: true })
  const after = await app.ask('GET', SETTINGS)
  expect(after.json.response).toMatchObject({
    ios: { latestVersion: '2.4.0', supportedVersion: '1.0.0' },
    underMaintenance: true,
  })
  expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
  expect((await app.ask('GET', VERSIONS)).json.response).toEqual({ appSetting: 2, faqs: 1 })
})

test.each([
  [{ unknown: 1 }],
  [{ 'ios.unknown': 1 }],
  [{ 'ios.latestVersion.x': 1 }],
  [{ constructor: 1 }],
  [{ '__proto__.toString': 'x' }],
  [{ 'ios.latestVersion': 'two' }],
  [{ underMaintenance: 'yes' }],
  [{ supportEmail: 'new@example.com', hardPaywall: 1 }],
  [{ termsUrl: 'javascript:alert(1)' }],
  [{ privacyUrl: 'data:text/html,x' }],
  [{ playStoreLink: 'intent://x' }],
  [{ appStoreLink: 'example.com' }],
  [{ termsUrl: ' javascript:alert(1)' }],
  [{ supportEmail: 'not an address' }],
  [{ 'ios.supportedVersion': '1.0.1' }],
  [{ 'android.supportedBuildNumber': 2 }],
])('refuses the change %j entirely', async (changes) => {
  await using app = await createTestApp()
  const before = await app.ask('GET', SETTINGS)
  await expect(app.services.settings.set(changes)).rejects.toBeInstanceOf(AppError)
  expect((await app.ask('GET', SETTINGS)).text).toBe(before.text)
  expect((await app.ask('GET', VERSIONS)).json.response.appSetting).toBe(1)
})

test('links in settings may point to web pages and app stores, or be empty', async () => {
  await using app = await createTestApp()
  const links = {
    playStoreLink: 'market://details?id=com.example',
    appStoreLink: 'itms-apps://apps.apple.com/app/id1',
    termsUrl: 'http://example.com/terms',
    privacyUrl: '',
  }
  await app.services.settings.set(links)
  expect((await app.ask('GET', SETTINGS)).json.response).toMatchObject(links)
})

const LONG_HEADER = `${'x,'.repeat(5_000)}de`

test.each([
  ['de', 'Kostenlos', 'de'],
  ['de', 'Kostenlos', 'de-CH, en;q=0.5'],
  ['de', 'Kostenlos', 'fr, de;q=0.8, en;q=0.5'],
  ['de', 'Kostenlos', 'xx-invalid-tag-, ?, de'],
  ['de', 'Kostenlos', 'de_DE'],
  ['de', 'Kostenlos', 'de_DE.UTF-8, en;q=0.5'],
  ['en', 'Free', 'fr'],
  ['en', 'Free', '*'],
  ['en', 'Free', LONG_HEADER],
])('the response is in %s, with the plan name %s', async (language, name, header) => {
  await using app = await createTestApp()
  const { json, headers } = await app.ask('GET', PLANS, { headers: { 'accept-language': header } })
  expect(json.response[0].name).toBe(name)
  expect(headers.get('content-language')).toBe(language)
  expect(headers.get('vary')).toContain('Accept-Language')
})

test('?lang= overrides Accept-Language, and languages match across regions', async () => {
  await using app = await createTestApp()
  const faq = { question: { en: 'Why?', 'pt-BR': 'Por quê?' }, answer: 'Because.', category: 'x' }
  await app.services.content.publish([faq])
  const portuguese = await app.ask('GET', `${FAQS}?lang=pt-PT`, {
    headers: { 'accept-language': 'en' },
  })
  expect(portuguese.json.response).toEqual([
    { _id: expect.any(String), question: 'Por quê?', answer: 'Because.', category: 'x' },
  ])
  expect(portuguese.headers.get('content-language')).toBe('pt-BR')
})

test('?lang= may have underscores', async () => {
  await using app = await createTestApp()
  const reply = await app.ask('GET', `${PLANS}?lang=de_DE`)
  expect(reply.headers.get('content-language')).toBe('de')
})

test('an import replaces all FAQs, keeps the ids of unchanged ones and raises the counter', async () => {
  await using app = await createTestApp()
  const [first, second] = (await app.ask('GET', FAQS)).json.response
  const stored = (await app.services.content.readFaqs()).map(({ question, answer, category }) => ({
    question,
    answer,
    category,
  }))
  await app.services.content.publish(stored.toReversed())
  const swapped = (await app.ask('GET', FAQS)).json.response
  expect(swapped).toEqual([second, first])
  await app.services.content.publish([])
  expect((await app.ask('GET', FAQS)).json.response).toEqual([])
  expect((await app.ask('GET', VERSIONS)).json.response.faqs).toBe(3)
})

test('imports exported plans, archives missing ones and restores them', async () => {
  await using app = await createTestApp()
  const exported = await app.services.plans.list()
  const before = await app.ask('GET', PLANS)
  const { content } = await app.services.plans.publish(exported)
  expect(content).toEqual(exported)
  expect((await app.ask('GET', PLANS)).text).toBe(before.text)
  const [free] = exported
  await app.services.plans.publish([free])
  expect((await app.ask('GET', PLANS)).json.response).toHaveLength(1)
  await app.services.plans.publish(exported)
  expect((await app.ask('GET', PLANS)).text).toBe(before.text)
})

test('refuses inconsistent plans and reports every error', async () => {
  await using app = await createTestApp()
  const [free, month, year] = await app.services.plans.list()
  const wrong = { ...month, currency: 'dollar', paymentPriceId: year?.paymentPriceId }
  const error = await app.services.plans.publish([free, wrong, year]).catch((thrown) => thrown)
  expect(error.details).toEqual([
    { path: 'plans.1.currency', message: 'must be an ISO 4217 code such as usd' },
    { path: 'plans.2.paymentPriceId', message: 'is also used by another plan' },
  ])
})

test('refuses an invalid catalogue entirely', async () => {
  await using app = await createTestApp()
  const before = await app.ask('GET', PLANS)
  const [free, pro] = await app.services.plans.list()
  for (const list of [[free, free], [free, { ...pro, price: -1 }], [{ code: 'x' }], {}, null]) {
    await expect(app.services.plans.publish(list)).rejects.toBeInstanceOf(AppError)
  }
  expect((await app.ask('GET', PLANS)).text).toBe(before.text)
})
