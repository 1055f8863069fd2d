import { expect } from 'bun:test'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { independentTest, useConsole } from '../support/console.ts'
import { press, review, show, textOf, waitUntilLoaded } from '../support/console-browser.ts'
import { postJson } from '../support/requests.ts'
import { until } from '../support/until.ts'

/** Contains an override that shows the text after it in reverse. */
const REVERSED = 'Invoice \u202Efdp.exe'
const EVENTS = 120

const world = useConsole()

independentTest('shows an error of a dialog inside the dialog', async () => {
  const { page, context } = await world.open()
  const { users } = await world.ask('people?q=bob@example.com')
  await page.route('**/delete', (route) =>
    route.fulfill({ status: 503, json: { code: 'unavailable', message: 'Try again later.' } }),
  )
  await show(page, `people/${users[0].id}`)
  await page.getByRole('button', { name: /^Delete .* account$/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill('bob@example.com')
  await dialog.getByRole('button', { name: /^Delete/ }).click()
  await dialog.getByRole('alert').getByText('Try again later.').waitFor()
  await context.close()
})

independentTest('marks the field that the server refuses', async () => {
  const { page, context } = await world.open()
  await show(page, 'webhooks')
  const url = page.getByLabel('URL')
  await url.fill('ftp://example.com')
  await page.getByRole('button', { name: 'Add endpoint' }).click()
  await page.locator('[aria-invalid=true]').waitFor()
  expect(await page.evaluate('document.activeElement.value')).toBe('ftp://example.com')
  const description = await url.getAttribute('aria-describedby')
  const texts = await Promise.all(
    (description ?? '').split(' ').map((id) => textOf(page.locator(`[id="${id}"]`))),
  )
  expect(texts.join(' ')).toContain('https')
  await url.fill('https://example.com')
  expect(await url.getAttribute('aria-invalid')).toBe(null)
  await context.close()
})

independentTest('says why a role cannot be changed', async () => {
  const { page, context } = await world.open()
  await show(page, 'operators')
  await page.locator('tr', { hasText: 'olga' }).locator('summary').click()
  await press(page, 'Change role of olga')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Role').selectOption('reader')
  expect(await textOf(dialog)).toContain('Only another owner can restore it')
  await dialog.getByRole('button', { name: 'Change role' }).click()
  expect(await textOf(dialog.getByRole('alert'))).toContain('owner')
  expect((await world.ask('operators'))[0]).toMatchObject({ name: 'olga', role: 'owner' })
  await context.close()
})

independentTest(
  'an Arabic browser shows dates and amounts without control characters',
  async () => {
    const { page, context } = await world.open({ locale: 'ar-EG' })
    const { users } = await world.ask('people?q=bob@example.com')
    await show(page, `people/${users[0].id}/subscription`)
    const text = await textOf(page.locator('main'))
    expect(text).toMatch(/\d{1,2} \w+ \d{4}/)
    expect(text).not.toContain('[U+')
    await context.close()
  },
)

independentTest('a message does not move the page', async () => {
  const { page, context } = await world.open({ viewport: { width: 375, height: 667 } })
  await show(page, 'settings')
  await page.getByLabel('Support e-mail').fill('message@example.com')
  await press(page, 'Review and publish')
  await page.evaluate('scrollTo(0, 0)')
  const top = async () => (await page.getByRole('heading', { level: 1 }).boundingBox())?.y
  const before = await top()
  await press(page, 'Publish change')
  await page.locator('.message.good', { hasText: 'Published.' }).waitFor()
  expect(await top()).toBe(before)
  await context.close()
})

independentTest(
  'a message disappears with its screen, unless its action opened the next one',
  async () => {
    const { page, context } = await world.open()
    const endpoint = { url: 'https://example.com/hook', events: ['user.deleted'], description: '' }
    const { endpoint: added } = await world.ask('webhooks/add', endpoint)
    await show(page, `webhooks/${added.id}`)
    await press(page, 'Remove endpoint')
    await page.getByRole('dialog').getByRole('button', { name: 'Remove endpoint' }).click()
    await page.waitForURL('**/webhooks')
    await page.getByText('Endpoint removed.').waitFor()
    await page.getByRole('link', { name: 'Plans', exact: true }).click()
    await page.waitForURL('**/plans')
    await page.getByText('Endpoint removed.').waitFor({ state: 'detached', timeout: 2_000 })
    await context.close()
  },
)

independentTest('a button that disappears with its row does not move the page', async () => {
  const { page, context } = await world.open({ viewport: { width: 375, height: 667 } })
  const { users } = await world.ask('people?q=deniz@example.com')
  await show(page, `people/${users[0].id}`)
  await page.getByRole('button', { name: 'Sign out Demo phone' }).click()
  await page.locator('.message.good', { hasText: 'Signed out Demo phone.' }).waitFor()
  await page.getByText('No devices are signed in.').waitFor()
  await page.waitForFunction("document.activeElement?.tagName === 'H1'")
  expect(Number(await page.evaluate('scrollY'))).toBeGreaterThan(100)
  await context.close()
})

independentTest('an error does not move the button that caused it', async () => {
  const { page, context } = await world.open()
  await page.route('**/rates/refresh', (route) =>
    route.fulfill({ status: 503, json: { code: 'unavailable', message: 'Try again later.' } }),
  )
  await show(page, 'rates')
  const button = page.getByRole('button', { name: 'Refresh now' })
  const before = await button.boundingBox()
  await button.click()
  await page.getByRole('alert').waitFor()
  expect(await button.boundingBox()).toEqual(before)
  await context.close()
})

independentTest('says that deleting an account does not cancel its subscription', async () => {
  const { page, context } = await world.open()
  const { users } = await world.ask('people?q=ann@example.com')
  await show(page, `people/${users[0].id}`)
  await page.getByRole('button', { name: /^Delete .* account$/ }).click()
  const warning = page.getByRole('dialog').locator('.notice')
  await warning.waitFor()
  expect(await textOf(warning)).toStartWith('Pro, monthly is not cancelled.')
  expect(await textOf(warning)).toContain('will keep charging for it after the account is deleted')
  expect(await warning.getByRole('link').getAttribute('href')).toBe(
    'https://apps.apple.com/account/subscriptions',
  )
  await context.close()
})

independentTest('shows the error of a closed dialog at the top', async () => {
  const { page, context } = await world.open()
  await page.route('**/events/replay', (route) =>
    route.fulfill({ status: 503, json: { code: 'unavailable', message: 'Try again later.' } }),
  )
  await show(page, 'events?type=INITIAL_PURCHASE')
  await press(page, 'Replay all matches')
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Replay/ })
    .click()
  await page.locator('.message.bad').getByText('Try again later.').waitFor()
  await context.close()
})

independentTest('says how many events a replay affects, and shows when it is done', async () => {
  const type = 'COUNTED_EVENT'
  for (let at = 0; at < EVENTS; at++) {
    const event = { id: `${type}-${at}`, type, app_user_id: 'counted', event_timestamp_ms: at }
    await postJson(world.console.server, '/api/webhooks/billing/v1', { event }, WEBHOOK_TOKEN)
  }
  const { page, context } = await world.open()
  await show(page, `events?type=${type}`)
  await press(page, 'Replay all matches')
  await page.getByRole('dialog', { name: `Replay ${EVENTS} events?` }).waitFor()
  await press(page, `Replay ${EVENTS} events`)
  await page.getByText(`Replayed ${EVENTS} events, none failed.`).waitFor()
  await page.route('**/events/replay', () => new Promise(() => {}))
  await press(page, 'Replay all matches')
  await press(page, `Replay ${EVENTS} events`)
  await page.getByText(`0 of ${EVENTS} replayed`).waitFor()
  await press(page, 'Stop')
  await page.getByText('Stopped after 0 events, none failed.').waitFor()
  await context.close()
})

independentTest('shows every time in the local zone, with UTC as its title', async () => {
  const { page, context } = await world.open({ timezoneId: 'Asia/Tokyo', locale: 'en-GB' })
  const { users } = await world.ask('people?q=ann@example.com')
  const { events } = await world.ask('events?type=INITIAL_PURCHASE')
  const ann = `people/${users[0].id}`
  const wrong: string[] = []
  for (const path of ['', ann, `${ann}/subscription`, `events/${events[0].eventId}`, 'audit']) {
    await show(page, path)
    const times = await page.locator('main time').all()
    if (times.length === 0) wrong.push(`${path}: no times`)
    for (const time of times)
      if (!(await time.getAttribute('title'))?.includes('UTC')) wrong.push(`${path}: no UTC`)
  }
  expect(wrong).toEqual([])
  await show(page, `events/${events[0].eventId}`)
  expect(await textOf(page.locator('.sentence'))).not.toContain('UTC')
  const { receivedAt } = events[0]
  const expected = new Intl.DateTimeFormat('en-GB', {
    timeStyle: 'short',
    timeZone: 'Asia/Tokyo',
  }).format(new Date(receivedAt))
  const received = page.locator('.facts > div', { hasText: 'Received' })
  expect(await textOf(received)).toContain(expected)
  await context.close()
})

independentTest('makes characters that change the text direction visible', async () => {
  const { page, context } = await world.open()
  const { version, content } = await world.ask('faqs')
  const faq = { question: REVERSED, answer: 'No.', category: 'Other' }
  await world.ask('faqs/publish', { base: version, note: '', content: [...content, faq] })
  await show(page, 'faqs')
  await page.getByText('Invoice [U+202E]fdp.exe').waitFor()
  await press(page, 'Edit Invoice [U+202E]fdp.exe')
  const field = page.getByRole('group', { name: 'Question', exact: true }).getByLabel('English')
  expect(await field.inputValue()).toBe(REVERSED)
  await page.getByText('Contains U+202E').waitFor()
  await context.close()
})

independentTest('the checklist lists the remaining steps until it is dismissed', async () => {
  const { page, context } = await world.open()
  await show(page, '')
  const checklist = page.getByRole('region', { name: /^Finish the setup/ })
  await checklist.getByText('Next: Send e-mails').click()
  expect(await textOf(checklist)).toContain('Set SMTP_URL, such as')
  expect(await checklist.getByRole('link', { name: 'Send e-mails' }).count()).toBe(1)
  await checklist.getByRole('link', { name: 'Schedule backups' }).click()
  await page.getByRole('heading', { name: 'Backups' }).waitFor()
  await show(page, '')
  await press(page, 'Dismiss')
  await page.reload()
  await waitUntilLoaded(page)
  expect(await checklist.count()).toBe(0)
  await context.close()
})

independentTest('a change of the filter closes the replay dialog', async () => {
  const { page, context } = await world.open()
  await show(page, 'events?outcome=applied')
  await press(page, 'Filters')
  await page.getByLabel('Type').selectOption('RENEWAL')
  await page.waitForURL(/type=RENEWAL/)
  await press(page, 'Replay all matches')
  const dialog = page.getByRole('dialog', { name: /^Replay/ })
  await dialog.waitFor()
  await page.goBack()
  await dialog.waitFor({ state: 'detached' })
  await context.close()
})

independentTest('warns that a replay may have stopped if its connection broke', async () => {
  const { page, context } = await world.open()
  await show(page, 'events?outcome=applied')
  await page.evaluate(`(() => {
    const { fetch } = window
    const broken = new ReadableStream({ pull: (controller) => controller.error(new TypeError()) })
    window.fetch = async (path, options) =>
      path.endsWith('/events/replay') ? new Response(broken) : fetch(path, options)
  })()`)
  await press(page, 'Replay all matches')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: /^Replay/ }).click()
  await page.getByText('The connection was lost. The action may have stopped').waitFor()
  await context.close()
})

const WIDTHS = [1280, 375]
for (const [edge, width] of ['lower', 'upper'].flatMap((one) =>
  WIDTHS.map((w) => [one, w] as const),
)) {
  independentTest(`scrolls a refused field from under the ${edge} bar at ${width} px`, async () => {
    const { page, context } = await world.open({ viewport: { width, height: 667 } })
    await show(page, 'settings')
    await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true')
    const group = page.getByRole('group', { name: 'Android' })
    await group.getByLabel('Latest version').fill('two')
    await review(page)
    // Modal dialogs do not stop scripts from scrolling the page.
    await page.evaluate(`(() => {
      const { top, bottom } = [...document.querySelectorAll('main input')].find(({ value }) => value === 'two').getBoundingClientRect()
      scrollBy(0, ${edge === 'upper' ? 'top - 5' : 'bottom - innerHeight + 5'})
    })()`)
    await press(page, 'Publish change')
    await page.locator('[aria-invalid=true]').waitFor()
    const isClear = () =>
      page.evaluate<boolean>(`(() => {
      const top = document.querySelector('.bar').getBoundingClientRect().bottom
      const bottom = document.querySelector('.sticky').getBoundingClientRect().top
      const field = document.activeElement.closest('.field').getBoundingClientRect()
      return field.top >= top && field.bottom <= bottom
    })()`)
    await until(isClear, 'a bar covers the field')
    await context.close()
  })
}
