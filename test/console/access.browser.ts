import { expect } from 'bun:test'
import { independentTest, useConsole } from '../support/console.ts'
import { becomeReader, press, show, textOf, waitUntilLoaded } from '../support/console-browser.ts'
import { addPasswordOperator, openSignedIn } from '../support/console-operators.ts'

const PROOF_REQUIRED = {
  status: 403,
  json: {
    code: 'forbidden',
    message: 'Confirm that it is you.',
    details: [{ path: 'operator', message: 'step_up_required' }],
  },
}

const world = useConsole()

independentTest('readers see plain values instead of forms', async () => {
  const { page, context } = await world.open()
  await becomeReader(page)
  for (const [path, value] of [
    ['settings', 'support@example.com'],
    ['plans', 'pro_month'],
    ['faqs', 'cancel'],
  ] as const) {
    await page.goto(`/console/${path}`)
    await waitUntilLoaded(page)
    await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true')
    const shown = await textOf(page.locator('main'))
    expect([path, shown.includes('Read-only'), shown.includes(value)]).toEqual([path, true, true])
    expect([path, await page.locator('main fieldset, main :disabled').count()]).toEqual([path, 0])
    expect(await page.getByRole('button', { name: 'Review and publish' }).count()).toBe(0)
  }
  await context.close()
})

independentTest('readers are not offered actions that they may not take', async () => {
  const { page, context } = await world.open()
  await becomeReader(page)
  await page.goto('/console/audit')
  await page.getByText(/^\d+ actions?$/).waitFor()
  expect(await page.getByRole('button', { name: 'Export JSON' }).count()).toBe(0)
  await page.goto('/console/api-keys')
  await page.getByText('Only owners can create and revoke keys.').waitFor()
  await context.close()
})

independentTest('an invitation opened in a signed-in tab offers to switch operators', async () => {
  const { page, context } = await world.open()
  await page.goto('/console')
  await waitUntilLoaded(page)
  const link = await world.console.linkFor('bo')
  const dialog = page.getByRole('dialog', { name: 'You are signed in as olga' })
  await page.goto(link)
  await dialog.getByText('Sign out and set up as bo?').waitFor()
  expect(page.url()).toBe(`${world.console.url}/console`)
  await press(page, 'Stay signed in')
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'olga' }).first().waitFor()
  await page.goto(link)
  // Signing out ends the session that other tests use.
  await page.route('**/console/api/me/sign-out', async (route) => {
    await context.clearCookies()
    await route.fulfill({ json: { code: 'ok', response: null } })
  })
  await press(page, 'Sign out and set up as bo')
  await page.getByText('Hello bo.').waitFor()
  await press(page, 'Create a passkey on this device')
  await page.getByRole('link', { name: 'bo', exact: true }).first().waitFor()
  await context.close()
})

independentTest('an invitation opened in a signed-out tab replaces the login page', async () => {
  const { page, context } = await world.openSignedOut()
  await page.goto('/console')
  await page.getByLabel('Password').waitFor()
  await page.goto(await world.console.linkFor('cy'))
  await page.getByText('Hello cy.').waitFor()
  expect(page.url()).toBe(`${world.console.url}/console`)
  await context.close()
})

independentTest('signing in in one tab resumes the others', async () => {
  const { page, newPage, context } = await world.open()
  await page.goto('/console/settings')
  await waitUntilLoaded(page)
  await page.getByLabel('Support e-mail').fill('kept@example.com')
  const cookies = await context.cookies()
  await context.clearCookies()
  await page.getByRole('link', { name: 'People', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Your session ended. Sign in to continue' })
  await dialog.waitFor()
  await context.addCookies(cookies)
  const other = await newPage()
  await other.goto('/console')
  await waitUntilLoaded(other)
  await other.evaluate(`new BroadcastChannel('homeport-console').postMessage(null)`)
  await dialog.waitFor({ state: 'detached' })
  await page.locator('main a', { hasText: 'ann@example.com' }).waitFor()
  await context.close()
})

independentTest('signing out in one tab locks the others', async () => {
  const { page, newPage, context } = await world.openSignedOut()
  await openSignedIn(page, await addPasswordOperator(world.console, 'dora'), 'people')
  const other = await newPage()
  await show(other, 'me')
  await press(other, 'Sign out')
  await page.getByRole('dialog', { name: 'Your session ended. Sign in to continue' }).waitFor()
  await context.close()
})

independentTest('ending a session elsewhere locks its open screen', async () => {
  const { page, context } = await world.openSignedOut()
  await openSignedIn(page, await addPasswordOperator(world.console, 'hal'), 'people')
  await world.ask('operators/reset', { name: 'hal' })
  await page
    .getByRole('dialog', { name: 'Your session ended. Sign in to continue' })
    .waitFor({ timeout: 2_000 })
  await context.close()
})

independentTest('a new operator’s proof does not complete the previous one’s action', async () => {
  const [fay, gil] = await Promise.all(
    ['fay', 'gil'].map((name) => addPasswordOperator(world.console, name)),
  )
  if (!fay || !gil) throw new Error('no operators')
  const { page, newPage, context } = await world.openSignedOut()
  await openSignedIn(page, fay, 'webhooks')
  await page.route('**/console/api/webhooks/add', (route) =>
    route.request().method() === 'POST' ? route.fulfill(PROOF_REQUIRED) : route.continue(),
  )
  await page.getByLabel('URL').fill('https://example.com/hooks')
  await press(page, 'Add endpoint')
  const proof = page.getByRole('dialog', { name: 'Confirm it’s you' })
  await proof.waitFor()
  await context.clearCookies()
  const other = await newPage()
  await openSignedIn(other, gil, 'people')
  await page.getByRole('link', { name: 'gil' }).first().waitFor({ state: 'attached' })
  expect(await proof.count()).toBe(0)
  await context.close()
})
