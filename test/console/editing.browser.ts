import { expect } from 'bun:test'
import { browserTest, independentTest, useConsole } from '../support/console.ts'
import { press, publish, review, show, textOf } from '../support/console-browser.ts'

const SETTINGS = '/api/user/app_settings/v1'
const PLANS = '/api/user/pricing_plans/v1'
const FAQS = '/api/user/faqs/v1'

const world = useConsole({ args: [] })

browserTest('a second editor sees the published changes and keeps their own', async () => {
  const { page: mine, newPage, context } = await world.open()
  const other = await newPage()
  for (const page of [mine, other]) await show(page, 'settings')
  await other.getByLabel('Terms url').fill('https://example.com/terms/2')
  await publish(other, 'New terms')
  await mine.bringToFront()
  await mine.getByLabel('Under maintenance').check()
  await mine.getByLabel('Privacy url').fill('https://example.com/privacy/2')
  await review(mine)
  await press(mine, 'Publish 2 changes')
  const conflict = mine.getByRole('dialog', { name: 'You published in another tab' })
  expect(await textOf(conflict.locator('.changes'))).toBe(
    'Terms URL: https://example.com/terms → https://example.com/terms/2',
  )
  expect(await readApp(SETTINGS)).toMatchObject({ underMaintenance: false })
  await press(mine, 'Reapply my changes')
  const changes = mine.getByRole('dialog', { name: 'Publish these changes' }).locator('.changes li')
  await changes.first().waitFor()
  expect((await Promise.all((await changes.all()).map(textOf))).toSorted()).toEqual([
    'Privacy URL: https://example.com/privacy → https://example.com/privacy/2',
    'Under maintenance: no → yes',
  ])
  await press(mine, 'Publish 2 changes')
  await mine.getByText('Published.').waitFor()
  expect(await readApp(SETTINGS)).toMatchObject({
    termsUrl: 'https://example.com/terms/2',
    privacyUrl: 'https://example.com/privacy/2',
    underMaintenance: true,
  })
  await context.close()
})

browserTest('a price keeps its zeros while it is typed', async () => {
  const { page, context } = await world.open()
  await show(page, 'plans')
  await page
    .getByRole('button', { name: /^Edit / })
    .nth(1)
    .click()
  const price = page.getByLabel('Price', { exact: true })
  for (const typed of ['10.05', '0.50', '4.09']) {
    await price.fill('')
    await price.pressSequentially(typed)
    expect(await price.inputValue()).toBe(typed)
  }
  await publish(page)
  expect((await readApp(PLANS)).map(({ price }: { price: number }) => price)).toContain(4.09)
  await context.close()
})

browserTest('a question keeps the focus while it grows long', async () => {
  const { page, context } = await world.open()
  await show(page, 'faqs')
  await press(page, 'Add question')
  const typed = 'How do I use my subscription when I change the phone, or get a new one?'
  const question = page.getByRole('group', { name: 'Question' }).last().getByLabel('English')
  await question.click()
  await page.keyboard.type(typed)
  expect(await question.inputValue()).toBe(typed)
  await context.close()
})

browserTest('reapplies an edit to the right question after a reorder', async () => {
  const { page: mine, newPage, context } = await world.open()
  const other = await newPage()
  for (const page of [mine, other]) await show(page, 'faqs')
  const [first = '', second = ''] = await questions()
  await press(other, `Move ${second} up`)
  await publish(other)
  await mine.bringToFront()
  await press(mine, `Edit ${first}`)
  await mine.getByRole('group', { name: 'Answer' }).getByLabel('English').fill('Ask the store.')
  await review(mine)
  await mine.getByText(`${first} › Answer (English)`).waitFor()
  await press(mine, 'Publish change')
  await press(mine, 'Reapply my changes')
  await press(mine, /^Publish/)
  await mine.getByText('Published.').waitFor()
  const faqs = await readApp(FAQS)
  const answerTo = (question: string) =>
    faqs.find((faq: { question: string }) => faq.question === question)?.answer
  expect(answerTo(first)).toBe('Ask the store.')
  expect(answerTo(second)).not.toBe('Ask the store.')
  await context.close()
})

browserTest('rolls back to an old version', async () => {
  const { page, context } = await world.open()
  await show(page, 'settings')
  const { version } = await world.ask('settings')
  await page.getByLabel('Support e-mail').fill('help@example.com')
  await publish(page, 'A shorter address')
  await page.getByRole('link', { name: 'History' }).click()
  await page.getByText('A shorter address').waitFor()
  await page.getByRole('button', { name: `Roll back to version ${version}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click()
  await page.getByText(`Rolled back to version ${version},`).waitFor()
  expect(await readApp(SETTINGS)).toMatchObject({ supportEmail: 'support@example.com' })
  const newest = page.locator('.list > li').first()
  expect(await textOf(newest)).toContain(`Version ${version + 2}`)
  expect(await newest.locator('.badge.good').count()).toBe(1)
  expect(await page.locator('.list .badge.good').count()).toBe(1)
  expect(await textOf(newest.locator('.changes'))).toContain('Support e-mail: help@example.com')
  await context.close()
})

browserTest('undoes the change of one version and keeps later ones', async () => {
  const { page, context } = await world.open()
  await show(page, 'settings')
  const { version, content } = await world.ask('settings')
  await page.getByLabel('Support e-mail').fill('wrong@example.com')
  await publish(page, 'A new address')
  await page.getByLabel('Terms url').fill('https://example.com/terms/later')
  await publish(page, 'Later terms')
  await page.getByRole('link', { name: 'History' }).click()
  await press(page, `Undo version ${version + 1}`)
  const dialog = page.getByRole('dialog')
  await dialog.locator('.changes').waitFor()
  expect(await textOf(dialog.locator('.changes'))).toBe(
    `Support e-mail: wrong@example.com → ${content.supportEmail}`,
  )
  await dialog.getByRole('button', { name: 'Undo version' }).click()
  await page.getByText(`Undid version ${version + 1}.`).waitFor()
  expect(await readApp(SETTINGS)).toMatchObject({
    supportEmail: content.supportEmail,
    termsUrl: 'https://example.com/terms/later',
  })
  expect(await textOf(page.locator('.list > li').first())).toContain(`Undo version ${version + 1}`)
  await press(page, `Undo version ${version + 1}`)
  await dialog.getByText('No changes').waitFor()
  expect(await dialog.getByRole('button', { name: 'Undo version' }).isDisabled()).toBe(true)
  await context.close()
})

browserTest('undoes one of the changes of a version', async () => {
  const { page, context } = await world.open()
  await show(page, 'settings')
  const { version, content } = await world.ask('settings')
  await page.getByLabel('Support e-mail').fill('wrong@example.com')
  await page.getByLabel('Terms url').fill('https://example.com/terms/kept')
  await publish(page, 'Two changes')
  await page.getByRole('link', { name: 'History' }).click()
  await press(page, `Undo version ${version + 1}`)
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('checkbox', { name: 'Terms URL' }).uncheck()
  await dialog.getByRole('button', { name: 'Undo version' }).click()
  await page.getByText(`Undid version ${version + 1}.`).waitFor()
  expect(await readApp(SETTINGS)).toMatchObject({
    supportEmail: content.supportEmail,
    termsUrl: 'https://example.com/terms/kept',
  })
  await context.close()
})

browserTest('marks the words of a long text that change', async () => {
  const { page, context } = await world.open()
  await show(page, 'faqs')
  await page
    .getByRole('button', { name: /^Edit / })
    .first()
    .click()
  const answer = page.getByRole('group', { name: 'Answer' }).getByLabel('English')
  await answer.fill((await answer.inputValue()).replace(/\.$/, ' today.'))
  await review(page)
  expect(await textOf(page.locator('.compared ins'))).toMatch(/^added: .*today\.$/)
  expect(await textOf(page.locator('.compared del'))).toMatch(/^removed: \S+\.$/)
  await context.close()
})

browserTest('reorders questions', async () => {
  const { page, context } = await world.open()
  await show(page, 'faqs')
  const before = await questions()
  await press(page, `Move ${before[0]} down`)
  expect(await page.evaluate('document.activeElement.ariaLabel')).toBe(`Edit ${before[0]}`)
  await press(page, 'Review and publish')
  const changes = page.getByRole('dialog').locator('.changes')
  expect(await textOf(changes)).toBe(
    `Order: ${before.join(', ')} → ${before.toReversed().join(', ')}`,
  )
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await publish(page)
  expect(await questions()).toEqual([before[1] ?? '', before[0] ?? ''])
  await context.close()
})

independentTest('marks the missing texts of a second language', async () => {
  const { page, context } = await world.open()
  await show(page, 'plans')
  await page.getByLabel('New language').fill('pt-BR')
  await press(page, 'Add language')
  const row = page.locator('.list > li', { hasText: 'pro_month' })
  expect(await row.locator('.badge').allTextContents()).toEqual(['Missing: Brazilian Portuguese'])
  await press(page, 'Edit Pro (pro_month)')
  const textIn = (name: string) =>
    row.getByRole('group', { name, exact: true }).getByLabel('Brazilian Portuguese').first()
  const missing = row.getByText('Missing', { exact: true })
  const before = await missing.count()
  expect(before).toBeGreaterThan(2)
  await textIn('Name').fill('Pro em português')
  await row.getByRole('group', { name: 'Description' }).locator('summary').click()
  await textIn('Description').fill('Para quem leva a sério.')
  expect(await missing.count()).toBe(before - 2)
  await publish(page, 'Portuguese')
  const names = (await readApp(PLANS, { 'Accept-Language': 'pt-BR' })).map(
    ({ name }: { name: string }) => name,
  )
  expect(names).toEqual(['Free', 'Pro em português', 'Pro, yearly'])
  expect(await row.locator('.badge').allTextContents()).toEqual(['Missing: Brazilian Portuguese'])
  await context.close()
})

independentTest('a review names fields as the editor does', async () => {
  const { page, context } = await world.open()
  await show(page, 'plans')
  await press(page, 'Edit Pro (pro_month)')
  await page.getByLabel('Other product ids').fill('pro_month_old')
  await review(page)
  const change = page.getByRole('dialog').locator('.changes li')
  expect(await textOf(change)).toStartWith('pro_month › Other product ids:')
  await context.close()
})

independentTest('names the field that has an invalid value', async () => {
  const { page, context } = await world.open()
  await show(page, 'settings')
  await page.getByRole('group', { name: 'iOS' }).getByLabel('Latest version').fill('two')
  await review(page)
  await press(page, 'Publish change')
  const invalid = page.locator('[aria-invalid=true]')
  await invalid.waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)
  expect(await page.evaluate('document.activeElement.ariaInvalid')).toBe('true')
  expect(await invalid.getAttribute('aria-describedby')).not.toBe(null)
  expect(await textOf(page.locator('.field', { has: invalid }))).toContain(
    'Must be a version such as 2.4.0.',
  )
  await invalid.fill('2.4.0')
  await invalid.waitFor({ state: 'detached' })
  await context.close()
})

independentTest('opens the record whose field is invalid', async () => {
  const { page, context } = await world.open()
  await show(page, 'plans')
  await press(page, 'Edit Pro (pro_month)')
  await page.getByLabel('Currency', { exact: true }).selectOption('Other…')
  await page.getByLabel('Other currency').fill('rupees')
  await press(page, 'Close Pro (pro_month)')
  await review(page)
  await press(page, 'Publish change')
  const invalid = page.getByLabel('Currency').and(page.locator('[aria-invalid=true]'))
  await invalid.waitFor()
  expect(await page.evaluate('document.activeElement.ariaInvalid')).toBe('true')
  await context.close()
})

async function questions(): Promise<string[]> {
  const { content } = await world.ask('faqs')
  return content.map(({ question }: { question: { en: string } }) => question.en)
}

/** Reads a public endpoint as an app does. */
async function readApp(path: string, headers: Record<string, string> = {}) {
  const language = { 'Accept-Language': 'pt-BR' }
  const reply = await fetch(world.console.url + path, { headers: { ...language, ...headers } })
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  return ((await reply.json()) as { response: any }).response
}

browserTest('publishing cannot be cancelled while it is running', async () => {
  const { page, context } = await world.open()
  await show(page, 'faqs')
  await press(page, 'Add question')
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/faqs/publish', async (route) => {
    await held
    await route.continue()
  })
  await review(page)
  await press(page, 'Publish change')
  await page.keyboard.press('Escape')
  const dialog = page.getByRole('dialog')
  expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true)
  release()
  await dialog.getByRole('alert').or(page.getByText('Published.')).first().waitFor()
  await context.close()
})
