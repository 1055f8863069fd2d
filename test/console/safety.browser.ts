import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { createTestApp, PASSWORD, type TestApp, WEBHOOK_TOKEN } from '../support/app.ts'
import { independentTest, useConsole } from '../support/console.ts'
import { findOverflow, textOf, violationsIn, waitUntilLoaded } from '../support/console-browser.ts'
import { phonePhoto } from '../support/pictures.ts'
import { postJson } from '../support/requests.ts'

/** Changes the page title if executed. `MARKUP` is also too wide for a phone. */
const TAG = "<img src=x onerror=document.title='owned'>"
const MARKUP = `${TAG}${'w'.repeat(50)}`
const EVENT_ID = `${MARKUP}/../?#%25"'`
const MINUTE = 60_000

let sent: Promise<string> | null = null
const world = useConsole({ environment: { APP_NAME: MARKUP } })

independentTest('shows markup from users and providers as text on every screen', async () => {
  const id = await sendMarkup()
  const user = `/console/people/${id}`
  const { page, faults, context } = await world.open({ viewport: { width: 375, height: 800 } })
  const places: [path: string, seen?: RegExp][] = [
    ['/console/people', /<img/],
    ['/console/people?q=mallory', /mallory/],
    [`/console/people?q=${encodeURIComponent(MARKUP)}`, /<img/],
    [user, /<img/],
    [`${user}/subscription`],
    [`${user}/files`, /<img/],
    ['/console/files'],
    ['/console/events', /<img/],
    [`/console/events?type=${encodeURIComponent(MARKUP)}`, /<img/],
    ['/console/settings/history', /<img/],
    ['/console/settings'],
    ['/console/faqs', /<img/],
    ['/console/faqs/history', /<img/],
    ['/console/plans'],
    ['/console/plans/history', /<img/],
    ['/console/audit', /<img/],
    ['/console/live'],
  ]
  const problems: string[] = []
  for (const [path, seen = /./] of places) {
    await page.goto(path)
    await waitUntilLoaded(page)
    await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true')
    if (!seen.test(await textOf(page.locator('main'))))
      problems.push(`${path} does not show the markup`)
    if (await hasRun(page)) problems.push(`${path} executes the markup`)
    const tooWide = await findOverflow(page)
    if (tooWide) problems.push(`${path} scrolls horizontally: ${tooWide}`)
  }
  expect(problems).toEqual([])
  expect(violationsIn(faults)).toEqual([])
  await context.close()
})

independentTest('opens an event whose id needs escaping in a URL', async () => {
  await sendMarkup()
  const { page, faults, context } = await world.open()
  await page.goto(`/console/events?type=${encodeURIComponent(MARKUP)}`)
  await page.locator('main tbody a').first().click()
  await page.getByText('Raw data').waitFor()
  expect(await textOf(page.locator('pre'))).toContain('<img')
  await page.reload()
  await page.getByText('Raw data').waitFor()
  await page.getByRole('button', { name: 'Replay event' }).click()
  await page.locator('.message.good').waitFor()
  expect(await hasRun(page)).toBe(false)
  expect(faults).toEqual([])
  await context.close()
})

independentTest('shows markup in the app name as text before sign-in', async () => {
  const { page, faults, context } = await world.openSignedOut()
  await page.goto('/console')
  await waitUntilLoaded(page)
  expect(await textOf(page.locator('h1'))).toContain('<img')
  expect(await hasRun(page)).toBe(false)
  expect(violationsIn(faults)).toEqual([])
  await context.close()
})

independentTest('refuses an operator name with markup', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/operators')
  await page.getByLabel('Name', { exact: true }).fill(TAG)
  await page.getByRole('button', { name: 'Create invitation' }).click()
  expect(await textOf(page.locator('.message.bad'))).toContain('The name is invalid.')
  expect(await hasRun(page)).toBe(false)
  await context.close()
})

independentTest('hides a link that is shown once', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/operators')
  await page.getByLabel('Name', { exact: true }).fill('hidden')
  await page.getByRole('button', { name: 'Create invitation' }).click()
  const heading = page.getByRole('heading', { name: 'Invitation link for hidden' })
  await heading.waitFor()
  await page.getByRole('button', { name: 'Hide' }).click()
  await heading.waitFor({ state: 'detached' })
  await context.close()
})

independentTest('shows a page for an address that cannot be decoded', async () => {
  const { page, faults, context } = await world.open()
  await page.goto('/console/people/%E0%A4%A')
  await page.locator('main h1').waitFor()
  expect(faults.filter((fault) => fault.includes('URIError'))).toEqual([])
  await context.close()
})

independentTest('deletes a user only after the operator types their e-mail address', async () => {
  const { page, context } = await world.open()
  const { users } = await world.ask('people?q=grace@example.com')
  await page.goto(`/console/people/${users[0].id}`)
  const dialog = page.getByRole('dialog')
  const deletion = dialog.getByRole('button', { name: /^Delete/ })
  const open = () => page.getByRole('button', { name: /^Delete .* account$/ }).click()
  await open()
  expect(await deletion.isDisabled()).toBe(true)
  for (const typed of ['grace', 'Grace@example.com', 'grace@example.com ']) {
    await dialog.getByRole('textbox').fill(typed)
    expect([typed, await deletion.isDisabled()]).toEqual([typed, true])
  }
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect((await world.ask('people?q=grace@example.com')).users).toHaveLength(1)
  await open()
  await dialog.getByRole('textbox').fill('grace@example.com')
  await deletion.click()
  await page.waitForURL('**/console/people')
  await page.getByText('Deleted Grace’s account.').waitFor()
  expect((await world.ask('people?q=grace@example.com')).users).toHaveLength(0)
  await context.close()
})

independentTest('asks for a new proof before a destructive action after 10 minutes', async () => {
  await using app = await createTestApp()
  await using site = await listen(app)
  const { user } = await app.register('bob@example.com')
  const { token } = await app.services.operators.accounts.add('ann', 'owner')
  const { page, context, faults } = await world.openSignedOut({ baseURL: site.url })
  await page.goto(`/console#setup=${token}`)
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.goto(`/console/people/${user._id}`)
  const verify = page.getByRole('button', { name: 'Mark e-mail verified' })
  const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' })
  app.clock.advance(11 * MINUTE)
  for (const refuse of [
    () => dialog.getByRole('button', { name: 'Cancel' }).click(),
    () => page.keyboard.press('Escape'),
  ]) {
    await verify.click()
    await dialog.waitFor()
    await refuse()
    await dialog.waitFor({ state: 'detached' })
    expect(await auditedActions(app)).not.toContain('users.verify')
  }
  await page.reload()
  await verify.click()
  await dialog.getByRole('button', { name: 'Use a passkey' }).click()
  await page.locator('.badge.good', { hasText: 'verified' }).waitFor()
  expect(await auditedActions(app)).toContain('users.verify')
  expect(violationsIn(faults)).toEqual([])
  await context.close()
})

independentTest('opens a private file in a new tab after a proof', async () => {
  await using app = await createTestApp()
  await using site = await listen(app)
  const { user, accessToken } = await app.register('bob@example.com')
  await app.ask('POST', '/api/user/attachments/v1?type=supportTicket', {
    token: accessToken,
    body: await phonePhoto(),
    headers: { 'content-type': 'image/jpeg', 'x-file-name': 'screen.jpg' },
  })
  const { token } = await app.services.operators.accounts.add('ann', 'owner')
  const { page, context } = await world.openSignedOut({ baseURL: site.url })
  await page.goto(`/console#setup=${token}`)
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.goto(`/console/people/${user._id}/files`)
  app.clock.advance(11 * MINUTE)
  await page.getByRole('button', { name: 'Open screen.jpg' }).click()
  const opened = context.waitForEvent('page')
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  const file = await opened
  await file.waitForURL(/\/files\/[^?]+\?expires=/)
  expect(await auditedActions(app)).toContain('files.open')
  await context.close()
})

independentTest('downloads nothing without a proof', async () => {
  await using app = await createTestApp()
  await using site = await listen(app)
  const { user } = await app.register('bob@example.com')
  const { token } = await app.services.operators.accounts.add('ann', 'owner')
  const { page, context } = await world.openSignedOut({ baseURL: site.url })
  await page.goto(`/console#setup=${token}`)
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.goto(`/console/people/${user._id}`)
  const exporting = page.getByRole('button', { name: 'Export all data' })
  const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' })
  app.clock.advance(11 * MINUTE)
  await exporting.click()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await auditedActions(app)).not.toContain('users.export')
  await exporting.click()
  const downloading = page.waitForEvent('download')
  await dialog.getByRole('button', { name: 'Use a passkey' }).click()
  expect((await downloading).suggestedFilename()).toBe(`${user._id}.json`)
  expect(await auditedActions(app)).toContain('users.export')
  await context.close()
})

/** Stores markup once in every field that users, providers or operators set. Returns a user id. */
function sendMarkup(): Promise<string> {
  sent ??= sendAll()
  return sent
}

async function sendAll(): Promise<string> {
  const { server } = world.console
  const email = `mallory-${crypto.randomUUID()}@example.com`
  const registered = await fetch(`${server.url}/api/auth/register/v1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', device: encodeURIComponent(MARKUP) },
    body: JSON.stringify({ email, password: PASSWORD, name: MARKUP }),
  })
  const { response } = (await registered.json()) as {
    response: { accessToken: string; user: { _id: string } }
  }
  await fetch(`${server.url}/api/user/attachments/v1?type=supportTicket`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${response.accessToken}`,
      'content-type': 'text/plain',
      'x-file-name': encodeURIComponent(`${MARKUP}.txt`),
    },
    body: MARKUP,
  })
  const purchase = { app_user_id: response.user._id, product_id: MARKUP, store: MARKUP }
  for (const more of [purchase, { app_user_id: MARKUP }]) {
    const at = Date.now()
    const times = { event_timestamp_ms: at, purchased_at_ms: at, original_transaction_id: MARKUP }
    const event = { id: EVENT_ID, type: MARKUP, ...times, ...more }
    await postJson(server, '/api/webhooks/billing/v1', { event }, WEBHOOK_TOKEN)
  }
  await publish('faqs', (faqs) => [
    ...faqs,
    { question: MARKUP, answer: MARKUP, category: MARKUP.slice(0, 99) },
  ])
  await publish('plans', ([first, ...others]) => [{ ...first, name: MARKUP }, ...others])
  const { version, content } = await world.ask('settings')
  const banner = { value: `${MARKUP}${version}`, rules: [] }
  const edited = { ...content, features: { ...content.features, banner } }
  await world.ask('settings/publish', { base: version, note: MARKUP, content: edited })
  return response.user._id
}

type Records = Record<string, unknown>[]

async function publish(kind: string, edit: (records: Records) => Records) {
  const { version, content } = await world.ask(kind)
  await world.ask(`${kind}/publish`, { base: version, note: MARKUP, content: edit(content) })
}

/** Whether the browser created an element from the markup, or executed it. */
async function hasRun(page: Page): Promise<boolean> {
  const isElement = (await page.locator('img[src=x]').count()) > 0
  return isElement || (await page.title()) === 'owned'
}

/** The app on a real port. */
async function listen(app: TestApp) {
  const server = app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  const url = `http://localhost:${server.port}`
  return { url, [Symbol.asyncDispose]: () => server.stop(true) }
}

async function auditedActions({ services }: TestApp): Promise<string[]> {
  const { entries } = await services.operators.audit.list({})
  return entries.map(({ action }) => action)
}
