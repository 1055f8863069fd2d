import { afterAll, expect } from 'bun:test'
import { createClock, PASSWORD } from '../support/app.ts'
import { serveAppStoreApi } from '../support/app-store/api.ts'
import { createAppStore } from '../support/app-store/app-store.ts'
import { browserTest, useConsole } from '../support/console.ts'
import { becomeReader, card, textOf, waitUntilLoaded } from '../support/console-browser.ts'

const WEBHOOK = '/api/webhooks/app-store/v1'
const URL_TO_ENTER = `https://api.example.com${WEBHOOK}`

const clock = createClock()
const store = await createAppStore(clock)
const api = serveAppStoreApi(store, () => new Date())
afterAll(() => api[Symbol.asyncDispose]())

const world = useConsole({
  environment: {
    ...store.environment,
    ...api.environment,
    BASE_URL: 'https://api.example.com',
  },
})

browserTest('shows each app in both environments, and the URL to enter', async () => {
  const { page, context, faults } = await world.open()
  await page.goto('/console/stores')
  await waitUntilLoaded(page)
  expect(await textOf(card(page, 'com.example.app, production'))).toContain(
    'Last notificationnever',
  )
  expect(await textOf(card(page, 'com.example.app, sandbox'))).toContain('API keyset')
  expect(await textOf(card(page, 'Setup in App Store Connect'))).toContain(URL_TO_ENTER)
  expect(await page.getByText('Google Play').count()).toBe(0)
  await notify(store.buy().notification)
  await page.reload()
  await waitUntilLoaded(page)
  const notified = card(page, 'com.example.app, production').locator('time').first()
  expect(await textOf(notified)).toMatch(/now|ago/)
  expect(faults).toEqual([])
  await context.close()
})

browserTest('checks the connection and says what to do', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/stores')
  const rows = page.locator('main .list > li')
  await page.getByRole('button', { name: 'Check the connection' }).click()
  await rows.nth(4).waitFor()
  expect(await page.locator('main .badge.bad').count()).toBe(0)
  api.faults.push(...Array.from({ length: 9 }, () => ({ status: 401 })))
  await page.getByRole('button', { name: 'Check the connection' }).click()
  await page
    .getByText(/Apple refuses the key/)
    .first()
    .waitFor()
  api.faults.length = 0
  await context.close()
})

browserTest('sends a test notification, but not for readers', async () => {
  const { page, context } = await world.open()
  await page.goto('/console/stores')
  await page.getByRole('button', { name: 'Send a test notification (sandbox)' }).click()
  await page.getByRole('heading', { name: 'Test notification, sandbox' }).waitFor()
  expect(await textOf(page.locator('main .list > li'))).toBe('com.example.app in sandboxOK')
  await becomeReader(page)
  await page.reload()
  await page.getByRole('button', { name: 'Check the connection' }).waitFor()
  expect(await page.getByRole('button', { name: /test notification/ }).count()).toBe(0)
  await context.close()
})

browserTest('says how to set up each store', async () => {
  const { page, context } = await world.open()
  const response = { url: null, hasApiKey: false, apps: [], play: null, stripe: null }
  const body = JSON.stringify({ code: 'ok', response })
  await page.route('**/console/api/stores', (route) =>
    route.fulfill({ contentType: 'application/json', body }),
  )
  await page.goto('/console/stores')
  expect(await textOf(card(page, 'The App Store is not set up'))).toContain('APP_STORE_APPS')
  const play = await textOf(card(page, 'Google Play is not set up'))
  expect(play).toContain('PLAY_PACKAGES')
  expect(play).toContain('PLAY_SERVICE_ACCOUNT_FILE')
  expect(await page.locator('main .card').count()).toBe(2)
  await context.close()
})

browserTest('finds a purchase by transaction id and by order number', async () => {
  const bought = store.buy({ product: 'found_product' })
  await notify(bought.notification)
  const { page, context, faults } = await world.open()
  await page.goto('/console/purchases')
  for (const id of [bought.originalTransactionId, `M${bought.originalTransactionId}`]) {
    await page.getByLabel('Receipt, e-mail or id').fill(id)
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/purchases?id=${id}`)
    const row = page.getByRole('row').filter({ hasText: 'found_product' })
    await row.waitFor()
    expect(await page.locator('main tbody tr').count()).toBe(1)
  }
  await page.getByRole('link', { name: 'Anonymous' }).click()
  await page.getByRole('heading', { name: `Purchase ${bought.originalTransactionId}` }).waitFor()
  await page.getByText('Direct from App Store').waitFor()
  await page.getByText('Raw data').click()
  const state = await textOf(page.locator('details.card'))
  expect(state).toContain('Will renewyes')
  expect(state).toMatch(/Expires at\D*\d{1,2}, \d{4}/)
  await becomeReader(page)
  await page.reload()
  await waitUntilLoaded(page)
  expect(await page.getByRole('button', { name: /Ask|Transfer/ }).count()).toBe(0)
  expect(faults).toEqual([])
  await context.close()
})

browserTest('lists unclaimed and duplicate purchases', async () => {
  const ann = await idOf('ann@example.com')
  await notify(store.buy({ product: 'lonely' }).notification)
  for (const _ of 'ab') await notify(store.buy({ product: 'twice', userId: ann }).notification)
  const { page, context } = await world.open()
  await page.goto('/console/purchases')
  const names = () => page.locator('main tbody td[data-label=Product]').allTextContents()
  const show = page.getByRole('combobox', { name: 'Show' })
  await show.selectOption('Unclaimed')
  await page.getByText('Active purchases that belong to no user.').waitFor()
  expect(await names()).toContain('lonely')
  expect(await names()).not.toContain('twice')
  await show.selectOption('Duplicate')
  await page.getByText(/more than once/).waitFor()
  expect(new Set(await names())).toEqual(new Set(['twice']))
  const row = page.locator('main tbody tr').first()
  expect(await textOf(row)).toContain('Ann assigned at purchase, not yet claimed')
  await row.getByRole('link', { name: 'Ann' }).click()
  await page.locator('.facts').getByRole('link', { name: 'Ann' }).click()
  await page.getByRole('heading', { name: 'Ann' }).waitFor()
  const purchase = page.locator('.list > li', { hasText: 'twice' }).first()
  expect(await textOf(purchase)).toContain(
    'Source: Direct from App Store; assigned at purchase, not yet claimed',
  )
  await context.close()
})

browserTest('queries the App Store about a purchase whose notification was lost', async () => {
  const { originalTransactionId: id, refund } = store.buy({ product: 'lost_product' })
  const { page, context } = await world.open()
  await page.goto(`/console/purchases/${id}`)
  await page.getByText('No purchase found.').waitFor()
  const ask = page.getByRole('button', { name: 'Refresh from App Store' })
  await ask.click()
  const found = card(page, 'lost_product')
  await found.waitFor()
  await ask.click()
  await page.getByText('Already up to date.').waitFor()
  clock.now = new Date()
  refund()
  await ask.click()
  await page.getByText('Updated.').waitFor()
  await found.getByText('Refunded', { exact: true }).first().waitFor()
  expect(await textOf(found)).toContain('StatusRefunded')
  api.faults.push(...Array.from({ length: 9 }, () => ({ status: 500 })))
  await ask.click()
  await page.getByText(/Apple is busy/).waitFor()
  api.faults.length = 0
  await context.close()
})

browserTest('transfers a purchase to another user', async () => {
  const ann = await idOf('ann@example.com')
  const bought = store.buy({ product: 'moving', userId: ann })
  await notify(bought.notification)
  await submit('ann@example.com', bought.signedTransaction())
  const { page, context } = await world.open()
  await page.goto(`/console/purchases/${bought.originalTransactionId}`)
  const facts = card(page, 'moving')
  await facts.waitFor()
  expect(await textOf(facts)).toContain('OwnerAnn, claimed by the user')
  await page.getByRole('button', { name: 'Transfer to another user' }).click()
  const dialog = page.getByRole('dialog')
  expect(await textOf(dialog)).toContain('ann@example.com loses it and is notified by e-mail.')
  await dialog.getByLabel('Reason').fill('Bought on the account of a friend')
  await dialog.getByLabel('User id or e-mail').fill('nobody@example.com')
  await page.keyboard.press('Enter')
  await dialog.getByText('There is no user nobody@example.com.').waitFor()
  await dialog.getByLabel('User id or e-mail').fill('bob@example.com')
  await page.keyboard.press('Enter')
  await page.getByText('The purchase belongs to the user that you entered.').waitFor()
  await facts.getByRole('link', { name: 'Bob' }).click()
  await page.getByRole('heading', { name: 'Bob' }).waitFor()
  expect(await textOf(page.locator('.list > li', { hasText: 'moving' }))).toContain(
    'linked by olga',
  )
  await context.close()
})

async function notify({ body }: { body: unknown }) {
  expect((await post(WEBHOOK, body)).code).toBe('ok')
}

async function submit(email: string, signedTransaction: string) {
  const signedIn = await post('/api/auth/login/v1', { email, password: PASSWORD })
  const purchases = [{ store: 'app_store', signedTransaction }]
  const { response } = await post(
    '/api/user/purchases/v1',
    { purchases },
    signedIn.response.accessToken,
  )
  expect(response.results[0].outcome).toBe('known')
}

// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
async function post(path: string, body: unknown, token?: string): Promise<any> {
  const reply = await fetch(world.console.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
  })
  return reply.json()
}

async function idOf(email: string): Promise<string> {
  const { users } = await world.ask(`people?q=${email}`)
  return users[0].id
}
