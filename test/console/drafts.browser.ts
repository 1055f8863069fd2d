import { expect } from 'bun:test'
import type { Dialog, Page } from 'playwright-core'
import { independentTest, startConsole, useConsole } from '../support/console.ts'
import { press, show } from '../support/console-browser.ts'
import { addPasswordOperator, openSignedIn, signInAs } from '../support/console-operators.ts'

const SESSION_OVER = 'Your session ended. Sign in to continue'

const world = useConsole({ args: [] })

independentTest('an ended session asks to sign in over the editor, then publishes', async () => {
  const ann = await addPasswordOperator(world.console, 'ann')
  const { page, context } = await world.openSignedOut()
  await openSignedIn(page, ann, 'settings')
  await email(page).fill('ann@example.com')
  await press(page, 'Review and publish')
  await page.getByRole('button', { name: 'Publish change', exact: true }).waitFor()
  await context.clearCookies()
  await press(page, 'Publish change')
  const dialog = page.getByRole('dialog', { name: SESSION_OVER })
  await dialog.waitFor()
  expect(await email(page).inputValue()).toBe('ann@example.com')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await dialog.waitFor()
  await signInAs(page, ann)
  await page.getByText('Published.').waitFor()
  expect((await world.ask('settings')).content.supportEmail).toBe('ann@example.com')
  expect(await draftsIn(page)).toEqual([])
  await context.close()
})

independentTest('another operator does not see the draft of the first', async () => {
  const [bo, cleo] = await Promise.all(
    ['bo', 'cleo'].map((name) => addPasswordOperator(world.console, name)),
  )
  if (!bo || !cleo) throw new Error('no operators')
  const { page, context } = await world.openSignedOut()
  await openSignedIn(page, bo, 'faqs')
  await press(page, 'Add question')
  await page
    .getByRole('group', { name: 'Question', exact: true })
    .getByLabel('English')
    .fill('Bo’s?')
  await context.clearCookies()
  await page.getByRole('link', { name: 'History' }).click()
  await page.getByRole('dialog', { name: SESSION_OVER }).waitFor()
  await signInAs(page, cleo)
  await page.getByRole('link', { name: 'cleo' }).first().waitFor()
  await page.getByRole('link', { name: 'Edit', exact: true }).click()
  await page.getByRole('button', { name: 'Add question' }).waitFor()
  expect(await page.getByText('Bo’s?').count()).toBe(0)
  expect(await page.getByText('Restore your unsaved changes').count()).toBe(0)
  await page.getByRole('link', { name: 'cleo' }).first().click()
  await press(page, 'Sign out')
  await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
  await openSignedIn(page, bo, 'faqs')
  await press(page, 'Restore')
  await page.getByText('Bo’s?').first().waitFor()
  await context.close()
})

independentTest('a draft survives a server restart', async () => {
  await using console = await startConsole()
  const ann = await addPasswordOperator(console, 'ann')
  const { page, context } = await world.openSignedOut({ baseURL: console.url })
  await openSignedIn(page, ann, 'settings')
  await email(page).fill('restart@example.com')
  await console.server.stop('SIGKILL')
  await press(page, 'Review and publish')
  await press(page, 'Publish change')
  const failure = page.getByRole('dialog').getByRole('alert')
  expect(await failure.textContent()).toContain('Could not reach the server.')
  await console.restart()
  await press(page, 'Publish change')
  await page.getByText('Published.').waitFor()
  expect(await email(page).inputValue()).toBe('restart@example.com')
  await context.close()
})

independentTest('restores the draft of a closed tab, even over a newer version', async () => {
  const { page, newPage, context } = await world.open()
  await show(page, 'plans')
  await press(page, 'Edit Pro (pro_month)')
  await text(page, 'Name').fill('Pro, kept')
  await page.close()
  const second = await newPage()
  await show(second, 'plans')
  await press(second, 'Restore')
  await second.getByText('1 unpublished change, saved in this browser').waitFor()
  await second.close()
  const { version, content } = await world.ask('plans')
  const [first, ...others] = content
  const newer = [{ ...first, badge: 'New' }, ...others]
  await world.ask('plans/publish', { base: version, note: '', content: newer })
  const third = await newPage()
  await show(third, 'plans')
  await press(third, 'Restore')
  await third.getByRole('dialog', { name: 'You published in another tab' }).waitFor()
  await press(third, 'Reapply my changes')
  await press(third, 'Publish change')
  await third.getByText('Published.').waitFor()
  const names = (await world.ask('plans')).content.map((plan: { name: unknown }) => plan.name)
  expect(JSON.stringify(names)).toContain('Pro, kept')
  expect(JSON.stringify((await world.ask('plans')).content[0].badge)).toContain('New')
  expect(await draftsIn(third)).toEqual([])
  await context.close()
})

independentTest('offers a draft again after leaving the screen, without asking', async () => {
  const { page, context } = await world.open()
  const asked: string[] = []
  page.on('dialog', (dialog: Dialog) => {
    asked.push(dialog.message())
    void dialog.accept()
  })
  await show(page, 'settings')
  await page.getByLabel('Terms url').fill('https://example.com/draft')
  await page.getByRole('link', { name: 'People', exact: true }).click()
  await page.getByRole('heading', { name: 'People' }).waitFor()
  await page.getByRole('link', { name: 'Settings' }).click()
  await press(page, 'Restore')
  expect(await page.getByLabel('Terms url').inputValue()).toBe('https://example.com/draft')
  await press(page, 'Discard changes')
  expect([asked, await draftsIn(page)]).toEqual([[], []])
  await context.close()
})

independentTest('restores discarded changes with Undo until the next edit', async () => {
  const { page, context } = await world.open({ viewport: { width: 375, height: 812 } })
  const terms = page.getByLabel('Terms url')
  await show(page, 'settings')
  await terms.fill('https://example.com/discarded')
  const [discard, publish] = await Promise.all(
    ['Discard changes', 'Review and publish'].map((name) =>
      page.getByRole('button', { name }).boundingBox(),
    ),
  )
  expect((publish?.x ?? 0) - (discard?.x ?? 0) - (discard?.width ?? 0)).toBeGreaterThan(20)
  await press(page, 'Discard changes')
  expect(await terms.inputValue()).not.toContain('discarded')
  await press(page, 'Undo')
  expect(await terms.inputValue()).toBe('https://example.com/discarded')
  await page.getByText('1 unpublished change, saved in this browser').waitFor()
  await press(page, 'Discard changes')
  await page.getByRole('button', { name: 'Undo' }).waitFor()
  await terms.fill('https://example.com/new')
  await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' })
  await context.close()
})

independentTest('two tabs each keep a draft', async () => {
  const { page: first, newPage, context } = await world.open()
  const second = await newPage()
  await show(first, 'settings')
  await first.getByLabel('Privacy url').fill('https://example.com/first')
  await show(second, 'settings')
  await second.getByText('unsaved changes to this page in another tab').waitFor()
  expect(await second.getByRole('button', { name: 'Restore' }).count()).toBe(0)
  await second.getByLabel('Privacy url').fill('https://example.com/second')
  expect((await draftsIn(second)).toSorted()).toEqual([
    'https://example.com/first',
    'https://example.com/second',
  ])
  await Promise.all([first.close(), second.close()])
  const third = await newPage()
  await show(third, 'settings')
  await third.getByRole('button', { name: 'Restore' }).nth(1).waitFor()
  await context.close()
})

independentTest('offers the draft of another tab as soon as that tab is closed', async () => {
  const { page: first, newPage, context } = await world.open()
  const second = await newPage()
  await show(first, 'settings')
  await first.getByLabel('Privacy url').fill('https://example.com/closed')
  await show(second, 'settings')
  await second.getByText('unsaved changes to this page in another tab').waitFor()
  await first.close()
  await press(second, 'Restore')
  expect(await second.getByLabel('Privacy url').inputValue()).toBe('https://example.com/closed')
  await context.close()
})

independentTest('keeps an edit before the page is painted again', async () => {
  const { page, context } = await world.open()
  await show(page, 'settings')
  await page.getByLabel('Privacy url').focus()
  const stored = await page.evaluate<string>(`(async () => {
    document.activeElement.value = 'https://example.com/last-key'
    document.activeElement.dispatchEvent(new InputEvent('input', { bubbles: true }))
    for (let turn = 0; turn < 10; turn++) await null
    return JSON.stringify({ ...localStorage })
  })()`)
  expect(stored).toContain('https://example.com/last-key')
  await context.close()
})

independentTest('signing out keeps or deletes the drafts, as the operator chooses', async () => {
  const dan = await addPasswordOperator(world.console, 'dan')
  const { page, context } = await world.openSignedOut()
  for (const [choice, kept] of [
    ['Keep and sign out', 1],
    ['Delete and sign out', 0],
  ] as const) {
    await openSignedIn(page, dan, 'settings')
    await page.getByLabel('Privacy url').fill('https://example.com/dan')
    await page.getByRole('link', { name: 'dan' }).first().click()
    await press(page, 'Sign out')
    await press(page, choice)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
    expect((await draftsIn(page)).length).toBe(kept)
  }
  await context.close()
})

independentTest('asks before leaving a draft that is too large to keep', async () => {
  const { page, context } = await world.open()
  const asked: string[] = []
  page.on('dialog', (dialog: Dialog) => {
    asked.push(dialog.message())
    void dialog.dismiss()
  })
  await show(page, 'settings')
  await page.getByLabel('Terms url').fill('x'.repeat(300_000))
  await page.getByText('too large to save in this browser').waitFor()
  await page.getByRole('link', { name: 'People', exact: true }).click()
  expect(asked).toEqual(['Discard unpublished changes?'])
  expect(await draftsIn(page)).toEqual([])
  await context.close()
})

independentTest('keeps no URL that contains a secret', async () => {
  const { page, context } = await world.open()
  await show(page, 'webhooks')
  await page.getByLabel('Description').fill('CRM')
  await page.getByLabel('URL').fill('https://example.com/hooks?token=s3cret')
  const stored = () => page.evaluate<string>('JSON.stringify({ ...localStorage })')
  expect(await stored()).toContain('CRM')
  expect(await stored()).not.toContain('s3cret')
  await page.reload()
  await press(page, 'Restore')
  expect(await page.getByLabel('Description').inputValue()).toBe('CRM')
  expect(await page.getByLabel('URL').inputValue()).toBe('')
  await context.close()
})

function email(page: Page) {
  return page.getByLabel('Support e-mail')
}

function text(page: Page, name: string) {
  return page.getByRole('group', { name, exact: true }).getByLabel('English').first()
}

/** The privacy URLs of the settings drafts that the browser keeps; null for other drafts. */
async function draftsIn(page: Page): Promise<unknown[]> {
  const stored = await page.evaluate<string[]>(
    `Object.entries({ ...localStorage }).flatMap(([key, text]) => key.startsWith('homeport-draft/') ? [text] : [])`,
  )
  return stored.map((text) => JSON.parse(text).content.content?.privacyUrl ?? null)
}
