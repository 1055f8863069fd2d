import type { Page } from 'playwright-core'
import type { useConsole } from './console.ts'
import { PLAIN_HOST, waitUntilLoaded } from './console-browser.ts'
import {
  addRule,
  addWebhook,
  askForProof,
  choosePassword,
  compareCharts,
  drawCharts,
  endSession,
  failToLoad,
  leaveDraft,
  openAll,
  press,
  publishInvalid,
  refuseRates,
  reviewChange,
  reviewRule,
  showAsReader,
  showCodes,
  showGooglePlayRecord,
  showNoOperators,
  showStores,
  writeRule,
} from './console-states.ts'

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
    { name: 'filtered users', path: '/console/people?status=expired&platform=ios' },
    {
      name: 'name of a view',
      path: '/console/people?status=paying&seenWithin=7',
      prepare: press('Save view'),
    },
    { name: 'no users match', path: '/console/people?status=granted&country=BR' },
    { name: 'filters of users', path: '/console/people', prepare: press('Filters'), width: 375 },
    { name: 'account', path: ann },
    { name: 'unknown user', path: '/console/people/none', expected: FAILED_REQUEST },
    { name: 'subscription', path: `${ann}/subscription`, prepare: openAll },
    ...['Grant access', 'Link a purchase'].map((name) => ({
      name,
      path: `${ann}/subscription`,
      prepare: press(name),
    })),
    { name: 'frame of e-mails', path: '/console/emails', prepare: openAll },
    { name: 'usage of a user', path: `${ann}/usage` },
    { name: 'files of a user', path: `${ann}/files` },
    { name: 'data of a user', path: `${ann}/data` },
    { name: 'event', path: `/console/events/${events[0].eventId}` },
    { name: 'purchase', path: '/console/purchases/demo-0' },
    { name: 'no purchases', path: '/console/purchases?id=nothing' },
    { name: 'duplicate purchases', path: '/console/purchases?filter=doubled' },
    {
      name: 'transfer of a purchase',
      path: '/console/purchases/demo-0',
      prepare: press('Transfer to another user'),
    },
    { name: 'stores with checks', path: '/console/stores', prepare: showStores },
    {
      name: 'purchase at Google',
      path: '/console/purchases/demo-0',
      prepare: showGooglePlayRecord,
    },
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
    { name: 'open plan', path: '/console/plans', prepare: press(/^Edit .*pro_year/) },
    { name: 'open question', path: '/console/faqs', prepare: press(/^Edit/) },
    { name: 'audit, expanded', path: '/console/audit', prepare: openAll },
    { name: 'scheduled jobs', path: '/console', prepare: openAll },
    { name: 'charts', path: '/console/metrics', prepare: drawCharts },
    { name: 'compared charts', path: '/console/metrics', prepare: compareCharts },
    {
      name: 'charts of an endpoint',
      path: '/console/metrics/endpoints?endpoint=GET+/health',
      prepare: drawCharts,
    },
    { name: 'deliveries', path: '/console/metrics/deliveries', prepare: drawCharts },
    { name: 'slowest requests', path: '/console/metrics/slowest?console=on' },
    { name: 'step-up', path: '/console/audit', prepare: askForProof },
    { name: 'review', path: '/console/settings', prepare: reviewChange },
    { name: 'review of a rule', path: '/console/settings', prepare: reviewRule },
    { name: 'rule', path: '/console/settings', prepare: writeRule },
    { name: 'deletion', path: ann, prepare: press(/^Delete .* account$/) },
    {
      name: 'shortcuts',
      path: '/console/people',
      prepare: (page) => page.keyboard.press('?'),
    },
    { name: 'error message', path: '/console/rates', prepare: refuseRates },
    {
      name: 'replay',
      path: '/console/events?outcome=failed',
      prepare: press('Replay all matches'),
    },
    {
      name: 'invalid field',
      path: '/console/settings',
      prepare: publishInvalid,
      expected: FAILED_REQUEST,
    },
    { name: 'unsaved changes', path: '/console/faqs', prepare: leaveDraft },
    { name: 'sign-out with unsaved changes', path: '/console/me', prepare: press('Sign out') },
    { name: 'settings of a reader', path: '/console/settings', prepare: showAsReader },
    { name: 'plans of a reader', path: '/console/plans', prepare: showAsReader },
    { name: 'invitation while signed in', path: setUp },
    { name: 'open filters', path: '/console/events', prepare: press('Filters'), width: 375 },
    {
      name: 'ended session',
      path: '/console/settings',
      prepare: endSession,
      expected: FAILED_REQUEST,
    },
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
  const links = `[...document.querySelectorAll('nav.side li:not(.me) a')].map(({ pathname }) => pathname)`
  const paths = await page.evaluate<string[]>(links)
  await context.close()
  return paths
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
