import type { Page } from 'playwright-core'
import type { useConsole } from './console.ts'
import { PLAIN_HOST, waitUntilLoaded } from './console-browser.ts'

type ConsoleContext = ReturnType<typeof useConsole>

/** A screen in one of its states. `prepare` brings the page from its address to that state. */
export type ScreenCase = {
  name: string
  path: string
  prepare?: (page: Page) => Promise<unknown>
  isSignedOut?: true
  /** The only width at which the screen exists. */
  width?: number
  /** An error of the browser console that is expected. */
  expected?: RegExp
}

const FAILED_REQUEST = /^Failed to load resource/
/** The header only works over https. */
const HTTPS_ONLY = /^The Cross-Origin-Opener-Policy header has been ignored/
const HOURS = 3_600_000
const TWO_DAYS_AGO = new Date(Date.now() - 48 * HOURS).toISOString()
const METRICS = ['requests', 'errors', 'p50', 'p99', 'events', 'writes', 'memory']

/** Every screen, dialog and empty state. */
export async function screensOf({ ask, console, open }: ConsoleContext): Promise<ScreenCase[]> {
  const { users } = await ask('people?q=ann@example.com')
  const { events } = await ask('events?outcome=failed')
  const ann = `/console/people/${users[0].id}`
  const webhook = await webhookOf(ask)
  const setUp = (await console.linkFor('newcomer')).replace(/^.*(?=\/console)/, '')
  return [
    ...[...(await navigationOf(open)), '/console/me', '/console/nowhere'].map((path) => ({
      name: path,
      path,
    })),
    { name: 'search results', path: '/console/people?q=ann' },
    { name: 'no search results', path: '/console/people?q=nobody' },
    { name: 'account', path: ann },
    { name: 'unknown user', path: '/console/people/none', expected: FAILED_REQUEST },
    { name: 'subscription', path: `${ann}/subscription`, prepare: openAll },
    ...['Grant access', 'Link a purchase'].map((name) => ({
      name,
      path: `${ann}/subscription`,
      prepare: press(name),
    })),
    { name: 'usage of a user', path: `${ann}/usage` },
    { name: 'files of a user', path: `${ann}/files` },
    { name: 'data of a user', path: `${ann}/data` },
    { name: 'event', path: `/console/events/${events[0].eventId}` },
    { name: 'purchase', path: '/console/purchases/demo-0' },
    { name: 'no purchases', path: '/console/purchases?id=nothing' },
    { name: 'doubled purchases', path: '/console/purchases?filter=doubled' },
    {
      name: 'gift of a purchase',
      path: '/console/purchases/demo-0',
      prepare: press('Transfer to another user'),
    },
    { name: 'stores with checks', path: '/console/stores', prepare: showStores },
    { name: 'purchase at Google', path: '/console/purchases/demo-0', prepare: showAtGoogle },
    {
      name: 'unacknowledged purchases',
      path: '/console/purchases?filter=unacknowledged',
    },
    { name: 'webhook endpoint', path: `/console/webhooks/${webhook.endpoint}` },
    { name: 'webhook delivery', path: `/console/webhooks/deliveries/${webhook.delivery}` },
    { name: 'webhook secret', path: '/console/webhooks', prepare: addWebhook },
    {
      name: 'removal of a webhook',
      path: `/console/webhooks/${webhook.endpoint}`,
      prepare: press('Remove endpoint'),
    },
    { name: 'failed events', path: '/console/events?outcome=failed' },
    { name: 'settings history', path: '/console/settings/history', prepare: openAll },
    { name: 'custom setting', path: '/console/settings', prepare: addRule },
    { name: 'open plan', path: '/console/plans', prepare: press('Edit pro_year') },
    { name: 'open question', path: '/console/faqs', prepare: press(/^Edit/) },
    { name: 'audit, expanded', path: '/console/audit', prepare: openAll },
    { name: 'scheduled jobs', path: '/console', prepare: openAll },
    { name: 'charts', path: '/console/metrics', prepare: drawCharts },
    { name: 'step-up', path: '/console/audit', prepare: askForProof },
    { name: 'review', path: '/console/settings', prepare: reviewChange },
    { name: 'deletion', path: ann, prepare: press(/^Delete .* account$/) },
    {
      name: 'shortcuts',
      path: '/console/people',
      prepare: (page) => page.keyboard.press('?'),
    },
    { name: 'error message', path: '/console/rates', prepare: refuseRates },
    { name: 'failed load', path: '/console/rates', prepare: failToLoad, expected: FAILED_REQUEST },
    { name: 'menu', path: '/console', prepare: press('Menu'), width: 375 },
    { name: 'login', path: '/console', isSignedOut: true },
    {
      name: 'login without operators',
      path: '/console',
      prepare: showNoOperators,
      isSignedOut: true,
    },
    { name: 'set-up', path: setUp, isSignedOut: true },
    { name: 'set-up with a password', path: setUp, prepare: choosePassword, isSignedOut: true },
    { name: 'recovery codes', path: setUp, prepare: showCodes, isSignedOut: true },
    { name: 'used link', path: '/console#setup=used', isSignedOut: true, expected: FAILED_REQUEST },
    {
      name: 'plain http',
      path: `http://${PLAIN_HOST}:${console.port}/console`,
      expected: HTTPS_ONLY,
      isSignedOut: true,
    },
  ]
}

/** An endpoint with a failed delivery. */
async function webhookOf(ask: ConsoleContext['ask']) {
  const url = 'https://hooks.example.invalid/homeport'
  const { endpoint } = await ask('webhooks/add', { url, events: ['all'], description: 'CRM' })
  const { delivery } = await ask(`webhooks/${endpoint.id}/test`, {})
  return { endpoint: endpoint.id, delivery }
}

/** The paths in the navigation, so that new screens are tested without being listed here. */
async function navigationOf(open: ConsoleContext['open']): Promise<string[]> {
  const { page, context } = await open()
  await page.goto('/console')
  await waitUntilLoaded(page)
  const links = `[...document.querySelectorAll('nav.side a')].map(({ pathname }) => pathname)`
  const paths = await page.evaluate<string[]>(links)
  await context.close()
  return paths
}

function press(name: string | RegExp) {
  return (page: Page) => page.getByRole('button', { name }).first().click()
}

async function openAll(page: Page) {
  await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true')
}

async function addRule(page: Page) {
  await page.getByLabel('Name').fill('newPaywall')
  await press('Add setting')(page)
  await press('Add rule to newPaywall')(page)
  await press('Show')(page)
}

async function reviewChange(page: Page) {
  await page.getByLabel('Under maintenance').check()
  await press('Review and publish')(page)
}

/** Serves two hours of samples, because a test cannot wait for real ones. */
async function drawCharts(page: Page) {
  const now = Date.now()
  const samples = Array.from({ length: 120 }, (_, at) => ({
    at: new Date(now - 2 * HOURS + at * 60_000).toISOString(),
    ...Object.fromEntries(METRICS.map((name, index) => [name, (at % 17) * 10 ** index])),
  }))
  await page.route('**/console/api/metrics*', (route) => route.fulfill(apiReply(samples)))
  await page.reload()
  await page.locator('canvas').nth(4).waitFor()
}

/** Pretends that the last proof is an hour old. */
async function askForProof(page: Page) {
  const old = new Date(Date.now() - HOURS).toISOString()
  const response = { provenAt: old, now: new Date().toISOString() }
  await page.route('**/console/api/me', (route) => route.fulfill(apiReply(response)))
  await press('Export')(page)
  await page.getByRole('dialog').waitFor()
  await page.unrouteAll()
}

async function refuseRates(page: Page) {
  const response = { outcome: 'refused', reason: 'the provider does not answer' }
  await page.route('**/console/api/rates/refresh', (route) => route.fulfill(apiReply(response)))
  await press('Refresh now')(page)
  await page.getByText('Rates not updated').waitFor()
}

/** Pretends that both stores are set up. */
async function showStores(page: Page) {
  const app = { bundleId: 'com.example.app', lastNotificationAt: null, completeUntil: null }
  const apps = ['production', 'sandbox'].map((environment) => ({ ...app, environment }))
  const url = 'https://api.example.com/api/webhooks/app-store/v1'
  const play = {
    url: 'https://api.example.com/api/webhooks/play/v1',
    audience: 'https://api.example.com/api/webhooks/play/v1',
    packages: [
      { packageName: 'com.example.app', lastNotificationAt: null, refundsReadUntil: null },
    ],
    waiting: 1,
    oldestUnacknowledgedAt: TWO_DAYS_AGO,
  }
  const stores = apiReply({ url, hasApiKey: false, apps, play })
  await page.route('**/console/api/stores', (route) => route.fulfill(stores))
  await page.reload()
  await press('Check the connection')(page)
  await page.getByText('Notification URL', { exact: true }).waitFor()
}

/** Pretends that Google Play has sold a purchase, and then refunded an order. */
async function showAtGoogle(page: Page) {
  const atGoogle = {
    tokenHash: 'ab'.repeat(32),
    packageName: 'com.example.app',
    askedAt: TWO_DAYS_AGO,
    nextAskAt: null,
    unacknowledgedSince: TWO_DAYS_AGO,
    goneAt: null,
  }
  const told = {
    provided: { productId: 'pro_year', expiresAt: Date.parse(TWO_DAYS_AGO) },
    refundedOrders: { 'GPA.3300-1111-2222-00001..0': Date.parse(TWO_DAYS_AGO) },
  }
  await page.route('**/console/api/purchases?*', async (route) => {
    const reply = await (await route.fetch()).json()
    const [purchase] = reply.response
    const state = { ...purchase.state, ...told }
    const sold = { ...purchase, store: 'PLAY_STORE', atGoogle, state }
    await route.fulfill(apiReply([sold]))
  })
  await page.reload()
  await page.getByRole('heading', { name: 'At Google Play' }).waitFor()
}

async function addWebhook(page: Page) {
  const added = apiReply({ secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDQg9n8XFzdzE=' })
  await page.route('**/console/api/webhooks/add', (route) => route.fulfill(added))
  await page.getByLabel('All events').uncheck()
  await page.getByLabel('user.deleted').check()
  await page.getByLabel('URL').fill('https://example.com/hooks')
  await press('Add endpoint')(page)
  await page.getByText('whsec_').waitFor()
}

async function failToLoad(page: Page) {
  const body = '{"code":"unavailable","message":"The rates are unavailable."}'
  await page.route('**/console/api/rates', (route) => route.fulfill({ status: 503, body }))
  await page.reload()
  await page.getByText('are unavailable').waitFor()
}

async function showNoOperators(page: Page) {
  const state = { appName: 'homeport', hasOperators: false, isSignedIn: false }
  await page.route('**/console/api/login/state', (route) => route.fulfill(apiReply(state)))
  await page.reload()
}

async function choosePassword(page: Page) {
  await press('Use a password')(page)
  await page.getByLabel('New password').waitFor()
}

async function showCodes(page: Page) {
  const recoveryCodes = Array.from({ length: 10 }, (_, at) => `abcd${at}fghjk`)
  const done = apiReply({ recoveryCodes })
  await page.route('**/console/api/login/set-up', (route) => route.fulfill(done))
  await choosePassword(page)
  await press('Set password')(page)
  await page.getByText('abcd9fghjk').waitFor()
}

function apiReply(response: unknown) {
  return { contentType: 'application/json', body: JSON.stringify({ code: 'ok', response }) }
}

/** Pages whose state has not changed since they were loaded. */
const untouched = new WeakSet<Page>()

/** Shows a screen. Simple ones are opened by client-side navigation, others by a page load. */
export async function show(page: Page, { path, prepare, isSignedOut }: ScreenCase) {
  const isPlain = !prepare && !isSignedOut && !path.includes('?')
  if (isPlain && untouched.has(page)) await navigate(page, path)
  else await load(page, path)
  await waitUntilLoaded(page)
  untouched.delete(page)
  if (isPlain) untouched.add(page)
  await prepare?.(page)
  await waitUntilLoaded(page)
}

async function load(page: Page, path: string) {
  await page.unrouteAll()
  // A new fragment alone does not load the page again.
  await page.goto('about:blank')
  await page.goto(path)
}

/** Changes the address without loading the page, as its links do. */
async function navigate(page: Page, path: string) {
  await page.evaluate(`history.pushState(null, '', '${path}')
    dispatchEvent(new PopStateEvent('popstate'))
    new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`)
}
