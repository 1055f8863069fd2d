import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { browserTest, useConsole } from '../support/console.ts'
import { publish, textOf, waitUntilLoaded } from '../support/console-browser.ts'
import { postJson, register } from '../support/requests.ts'
import { until } from '../support/until.ts'

const world = useConsole()

browserTest('grants access, revokes it, and undoes the revocation', async () => {
  const { page, context, faults } = await world.open()
  await page.goto(await subscriptionOf('bob@example.com'))
  await waitUntilLoaded(page)
  await page.getByRole('button', { name: 'Grant access' }).click()
  const grant = page.getByRole('dialog').getByRole('button', { name: 'Grant access' })
  await until(
    async () => (await page.getByLabel('Entitlement').inputValue()) === 'pro',
    'no entitlement',
  )
  await page.getByLabel('Entitlement').fill('a_beta')
  expect(await grant.isDisabled()).toBe(true)
  await page.getByLabel('Ends').selectOption('never')
  await page.getByLabel('Reason').fill('beta tester')
  await grant.click()
  await page.getByText('Access granted.').waitFor()
  const card = page.locator('.card', { hasText: 'Granted: a_beta' }).first()
  expect(await textOf(card)).toContain('by olga: beta tester')
  expect(await textOf(page.locator('.sentence'))).toContain('Also a_beta, granted by olga')
  await card.getByRole('button', { name: 'Revoke access' }).click()
  await page.getByLabel('Reason').fill('test is over')
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke access' }).click()
  await page.getByText('Access revoked.').waitFor()
  expect(await textOf(page.locator('.sentence'))).not.toContain('a_beta is granted')
  await card.getByRole('button', { name: 'Undo revocation' }).click()
  await page.getByText('Access granted again.').waitFor()
  await page.getByRole('button', { name: 'Undo revocation' }).waitFor({ state: 'detached' })
  expect(await textOf(page.locator('.sentence'))).toContain('Also a_beta, granted by olga')
  expect(faults).toEqual([])
  await context.close()
})

browserTest('an action that is running cannot be cancelled', async () => {
  const { page, context } = await world.open()
  await page.goto(await subscriptionOf('bob@example.com'))
  await waitUntilLoaded(page)
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/grants', async (route) => {
    await held
    await route.continue()
  })
  await page.getByRole('button', { name: 'Grant access' }).click()
  await page.getByLabel('Entitlement').fill('a_gamma')
  await page.getByLabel('Ends').selectOption('never')
  await page.getByLabel('Reason').fill('slow network')
  await page.getByRole('dialog').getByRole('button', { name: 'Grant access' }).click()
  const dialog = page.getByRole('dialog')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true)
  release()
  await page.getByText('Access granted.').waitFor()
  await dialog.waitFor({ state: 'detached' })
  await context.close()
})

browserTest('repeating a grant whose response was lost grants access once', async () => {
  const { page, context } = await world.open()
  await page.goto(await subscriptionOf('bob@example.com'))
  await waitUntilLoaded(page)
  let lost = 0
  await page.route('**/grants', async (route) => {
    const reply = await route.fetch()
    await (lost++ === 0 ? route.abort() : route.fulfill({ response: reply }))
  })
  await page.getByRole('button', { name: 'Grant access' }).click()
  await page.getByLabel('Entitlement').fill('a_delta')
  await page.getByLabel('Reason').fill('bad network')
  const grant = page.getByRole('dialog').getByRole('button', { name: 'Grant access' })
  await grant.click()
  await page.getByText('Could not reach the server').waitFor()
  await grant.click()
  await page.getByText('Access granted.').waitFor()
  await waitUntilLoaded(page)
  expect(await page.locator('.card', { hasText: 'Granted: a_delta' }).count()).toBe(1)
  await context.close()
})

browserTest('adds a note to a user and deletes it', async () => {
  const { page, context, faults } = await world.open()
  await page.goto((await subscriptionOf('bob@example.com')).replace('/subscription', ''))
  await waitUntilLoaded(page)
  const card = page.locator('.card', { hasText: 'Notes' })
  await page.getByLabel('New note').fill('Called about a refund.\nCall back on Monday.')
  await card.getByRole('button', { name: 'Add note' }).click()
  await page.getByText('Note added.').waitFor()
  expect(await textOf(card.locator('.list'))).toContain(
    'Called about a refund. Call back on Monday.',
  )
  expect(await textOf(card.locator('.list'))).toContain('olga')
  expect(await page.getByLabel('New note').inputValue()).toBe('')
  await card.getByRole('button', { name: 'Delete note' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete note' }).click()
  await page.getByText('Note deleted.').waitFor()
  expect(await textOf(card)).toContain('No notes.')
  expect(faults).toEqual([])
  await context.close()
})

browserTest('links an anonymous purchase by its latest order, and undoes it', async () => {
  const order = 'GPA.3300-1111-2222-00001'
  await deliver({ type: 'INITIAL_PURCHASE', transaction_id: order })
  await deliver({ type: 'RENEWAL', transaction_id: `${order}..0` })
  const { page, context, faults } = await world.open()
  await page.goto(await subscriptionOf('bob@example.com'))
  await waitUntilLoaded(page)
  await page.getByRole('button', { name: 'Link a purchase' }).click()
  await page.getByLabel('Transaction or order').fill(`${order.toLowerCase()}..0`)
  await page.getByLabel('Reason').fill('sent the receipt')
  await page.getByText('currently has no owner').waitFor()
  await page.getByRole('button', { name: 'Link purchase' }).click()
  await page.getByText('Purchase linked.').waitFor()
  const card = page.locator('.card', { hasText: order })
  expect(await textOf(card)).toContain('by olga: sent the receipt')
  await card.getByRole('link', { name: order }).click()
  await page.getByRole('heading', { name: `Purchase ${order}` }).waitFor()
  await waitUntilLoaded(page)
  expect(await textOf(page.locator('main'))).toContain('linked by olga')
  await page.getByRole('button', { name: 'Undo link' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Undo link' }).click()
  await page.getByText('Link undone.').waitFor()
  expect(await textOf(page.locator('main'))).toContain('no user')
  await page.getByRole('button', { name: 'Link to a user' }).waitFor()
  expect(faults).toEqual([])
  await context.close()
})

browserTest('the transfer button names the owner who loses the purchase', async () => {
  const order = 'GPA.3300-1111-2222-00007'
  const { users } = await world.ask('people?q=carla@example.com')
  const bought = { type: 'INITIAL_PURCHASE', transaction_id: order, app_user_id: users[0].id }
  await deliver({ ...bought, original_transaction_id: order })
  const { page, context } = await world.open()
  await page.goto(await subscriptionOf('bob@example.com'))
  await waitUntilLoaded(page)
  await page.getByRole('button', { name: 'Link a purchase' }).click()
  await page.getByLabel('Reason').fill('sent the receipt')
  const id = page.getByLabel('Transaction or order')
  await id.fill('GPA.9999')
  await page.getByText('There is no purchase GPA.9999.').waitFor()
  expect(await page.getByRole('button', { name: 'Link purchase' }).isDisabled()).toBe(true)
  const at = await page.getByRole('button', { name: 'Link purchase' }).boundingBox()
  await id.fill(order)
  const take = page.getByRole('button', { name: 'Transfer from carla@example.com' })
  await take.waitFor()
  expect((await take.boundingBox())?.y).toBe(at?.y ?? Number.NaN)
  expect(await page.getByText('There is no purchase').count()).toBe(0)
  await take.click()
  await page.getByText('Purchase linked.').waitFor()
  await context.close()
})

browserTest('shows when a user’s payment unlocks nothing', async () => {
  await register(world.console.server, 'ida@example.com')
  const { users } = await world.ask('people?q=ida@example.com')
  const bought = { app_user_id: users[0].id, original_transaction_id: 'GPA.3300-1111-2222-00009' }
  await deliver({
    ...bought,
    type: 'INITIAL_PURCHASE',
    transaction_id: bought.original_transaction_id,
    entitlement_ids: [],
    product_id: 'forgotten_product',
  })
  const { page, context } = await world.open()
  await page.goto('/console/people?q=ida@example.com')
  await page
    .locator('main tr', { hasText: 'ida@example.com' })
    .getByText('Paid, but no access')
    .waitFor()
  await page.goto(await subscriptionOf('ida@example.com'))
  await waitUntilLoaded(page)
  const header = await textOf(page.getByLabel('At a glance'))
  expect(header).toContain('Paid, but no access')
  expect(header).toContain('UnlockedNothing')
  await page.getByRole('button', { name: 'Grant access' }).click()
  await page.getByLabel('Entitlement').fill('premium')
  await page.getByText('No plan includes premium.').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('link', { name: 'Open the plans' }).click()
  const product = page.getByRole('listitem').filter({ hasText: 'forgotten_product' })
  expect(await textOf(product)).toContain('1 active purchase')
  expect(await textOf(product)).toContain('unlocks nothing')
  await product.getByRole('button', { name: 'Add to Pro', exact: true }).first().click()
  await product.waitFor({ state: 'detached' })
  await publish(page)
  await page.getByRole('link', { name: 'Back to the user' }).click()
  await page.waitForURL(`**${await subscriptionOf('ida@example.com')}`)
  await page.getByLabel('At a glance').getByText('Paying').waitFor()
  await context.close()
})

browserTest('disables actions that are not set up, with the reason', async () => {
  const { page, context } = await world.open()
  await page.goto(await subscriptionOf('bob@example.com'))
  await waitUntilLoaded(page)
  await expectDisabled(page, 'Refresh from RevenueCat', 'Set RC_API_KEY')
  await page.goto('/console/purchases?id=nothing')
  await expectDisabled(page, 'Refresh from App Store', 'needs a key for Apple')
  await context.close()
})

async function expectDisabled(page: Page, name: string, reason: string) {
  await page.getByText(reason).waitFor()
  expect(await page.getByRole('button', { name }).isDisabled()).toBe(true)
}

async function subscriptionOf(email: string): Promise<string> {
  const { users } = await world.ask(`people?q=${email}`)
  return `/console/people/${users[0].id}/subscription`
}

function deliver(fields: { type: string; transaction_id: string } & Record<string, unknown>) {
  const at = Date.now()
  const event = {
    id: fields.transaction_id,
    event_timestamp_ms: at,
    store: 'PLAY_STORE',
    product_id: 'a_product',
    entitlement_ids: ['pro'],
    app_user_id: '$RCAnonymousID:5f0c6d3e',
    original_transaction_id: 'GPA.3300-1111-2222-00001',
    purchased_at_ms: at,
    expiration_at_ms: at + 30 * 86_400_000,
    ...fields,
  }
  return postJson(world.console.server, '/api/webhooks/billing/v1', { event }, WEBHOOK_TOKEN)
}
