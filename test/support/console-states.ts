import type { Page } from 'playwright-core'
import { becomeReader } from './console-browser.ts'
import { metricsReplies } from './metrics-replies.ts'

const HOURS = 3_600_000
const TWO_DAYS_AGO = new Date(Date.now() - 48 * HOURS).toISOString()

export function press(name: string | RegExp) {
  return (page: Page) => page.getByRole('button', { name }).first().click()
}

export async function openAll(page: Page) {
  await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true')
}

export async function addRule(page: Page) {
  await page.getByLabel('Name').fill('newPaywall')
  await press('Add setting')(page)
  await press('Add rule to newPaywall')(page)
  await press('Show')(page)
}

export async function writeRule(page: Page) {
  await press('Add rule to Hard paywall')(page)
  await page.getByLabel('Countries', { exact: true }).fill('Germany, Austria')
  await page.getByLabel('Percentage of users').fill('20')
  await press('Show')(page)
  await page.locator('.explained').waitFor()
}

/** The review of a country rule warns that the server does not know countries. */
export async function reviewRule(page: Page) {
  await writeRule(page)
  await press('Review and publish')(page)
  await page.getByText('never applies').waitFor()
}

export async function reviewChange(page: Page) {
  await page.getByLabel('Under maintenance').check()
  await press('Review and publish')(page)
}

export async function publishInvalid(page: Page) {
  await page.getByLabel('Support e-mail').fill('nowhere')
  await press('Review and publish')(page)
  await press('Publish change')(page)
  await page.locator('[aria-invalid=true]').waitFor()
  await page.unrouteAll()
}

export async function leaveDraft(page: Page) {
  await press('Add question')(page)
  await page.reload()
  await page.getByText('Restore your unsaved changes').waitFor()
}

export async function showAsReader(page: Page) {
  await becomeReader(page)
  await page.reload()
  await page.getByText('Read-only').waitFor()
  await openAll(page)
}

/** Answers as the server does once a session has ended. */
export async function endSession(page: Page) {
  const ended = { status: 401, json: { code: 'unauthenticated', message: 'Your session ended.' } }
  const state = {
    appName: 'homeport',
    environment: 'Local',
    hasOperators: true,
    isDemo: false,
    isSignedIn: false,
    firstCommand: null,
  }
  await page.route('**/console/api/login/state', (route) => route.fulfill(apiReply(state)))
  await page.route('**/console/api/preview/settings', (route) => route.fulfill(ended))
  await press('Show')(page)
  await page.getByRole('dialog').waitFor()
}

/** Serves the responses of `metricsReplies`, because a test cannot wait for real ones. */
export async function drawCharts(page: Page) {
  const { traffic, endpoints, endpoint } = metricsReplies(Date.now())
  const serve = (path: string, reply: (earlier: string[]) => unknown) =>
    page.route(new RegExp(`/console/api/${path}([?]|$)`), (route) => {
      const { searchParams } = new URL(route.request().url())
      const earlier = ['day', 'week'].filter((age) => searchParams.get(age) === 'on')
      return route.fulfill(apiReply(reply(earlier)))
    })
  await serve('metrics', traffic)
  await serve('metrics/endpoints', endpoints)
  await serve('metrics/endpoint', endpoint)
  await page.reload()
}

export async function compareCharts(page: Page) {
  await drawCharts(page)
  await page.getByLabel('Previous week').check()
  await page.locator('canvas').first().waitFor()
}

/** Pretends that the last proof is an hour old. */
export async function askForProof(page: Page) {
  const old = new Date(Date.now() - HOURS).toISOString()
  const response = { provenAt: old, now: new Date().toISOString() }
  await page.route('**/console/api/me', (route) => route.fulfill(apiReply(response)))
  await press('Export')(page)
  await page.getByRole('dialog').waitFor()
  await page.unrouteAll()
}

export async function refuseRates(page: Page) {
  const response = { outcome: 'refused', reason: 'the provider does not respond' }
  await page.route('**/console/api/rates/refresh', (route) => route.fulfill(apiReply(response)))
  await press('Refresh now')(page)
  await page.getByText('Rates not updated').waitFor()
}

/** Pretends that both stores are set up. */
export async function showStores(page: Page) {
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
  const stores = apiReply({ url, hasApiKey: false, apps, play, stripe: null })
  await page.route('**/console/api/stores', (route) => route.fulfill(stores))
  await page.reload()
  await press('Check the connection')(page)
  await page.getByText('Notification URL', { exact: true }).waitFor()
}

/** Pretends that Google Play has sold a purchase, and then refunded an order. */
export async function showGooglePlayRecord(page: Page) {
  const atGoogle = {
    tokenHash: 'ab'.repeat(32),
    packageName: 'com.example.app',
    askedAt: TWO_DAYS_AGO,
    nextAskAt: null,
    unacknowledgedSince: TWO_DAYS_AGO,
    goneAt: null,
  }
  const reported = {
    provided: { productId: 'pro_year', expiresAt: Date.parse(TWO_DAYS_AGO) },
    refundedOrders: { 'GPA.3300-1111-2222-00001..0': Date.parse(TWO_DAYS_AGO) },
  }
  await page.route('**/console/api/purchases?*', async (route) => {
    const reply = await (await route.fetch()).json()
    const [purchase] = reply.response.purchases
    const state = { ...purchase.state, ...reported }
    const sold = { ...purchase, store: 'PLAY_STORE', atGoogle, state }
    await route.fulfill(apiReply({ purchases: [sold], next: null }))
  })
  await page.reload()
  await page.getByRole('heading', { name: 'Google Play record' }).waitFor()
}

export async function addWebhook(page: Page) {
  const added = apiReply({ secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDQg9n8XFzdzE=' })
  await page.route('**/console/api/webhooks/add', (route) => route.fulfill(added))
  await page.getByLabel('All events').uncheck()
  await page.getByLabel('user.deleted').check()
  await page.getByLabel('URL').fill('https://example.com/hooks')
  await press('Add endpoint')(page)
  await page.getByText('whsec_').waitFor()
}

export async function failToLoad(page: Page) {
  const body = '{"code":"unavailable","message":"The rates are unavailable."}'
  await page.route('**/console/api/rates', (route) => route.fulfill({ status: 503, body }))
  await page.reload()
  await page.getByText('are unavailable').waitFor()
}

export async function showNoOperators(page: Page) {
  const state = {
    appName: 'homeport',
    environment: 'Local',
    hasOperators: false,
    isDemo: false,
    isSignedIn: false,
    firstCommand: './homeport operators add your-name',
  }
  await page.route('**/console/api/login/state', (route) => route.fulfill(apiReply(state)))
  await page.reload()
}

export async function choosePassword(page: Page) {
  await press('Use a password')(page)
  await page.getByLabel('New password').waitFor()
}

export async function showCodes(page: Page) {
  const recoveryCodes = Array.from({ length: 10 }, (_, at) => `abcd${at}fghjk`)
  const reply = apiReply({ recoveryCodes })
  await page.route('**/console/api/login/set-up', (route) => route.fulfill(reply))
  await choosePassword(page)
  await press('Set password')(page)
  await page.getByText('abcd9fghjk').waitFor()
}

function apiReply(response: unknown) {
  return { contentType: 'application/json', body: JSON.stringify({ code: 'ok', response }) }
}
