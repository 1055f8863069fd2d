import { expect } from 'bun:test'
import { browserTest, useConsole } from '../support/console.ts'
import { press, publish, review, show, textOf } from '../support/console-browser.ts'
import { startSmtp } from '../support/smtp.ts'
import { until } from '../support/until.ts'

const smtp = await startSmtp()
const world = useConsole({ args: [], environment: { SMTP_URL: smtp.url, APP_NAME: 'Sunrise' } })

type Opened = Awaited<ReturnType<typeof world.open>>

async function openEmails(width = 1280): Promise<Opened> {
  const opened = await world.open({ viewport: { width, height: 800 } })
  await show(opened.page, 'emails')
  return opened
}

function previewIn({ page }: Opened) {
  return page.frameLocator('iframe.mail')
}

browserTest('edits a text with a live preview, publishes it and rolls it back', async () => {
  const opened = await openEmails()
  const { page, context, faults } = opened
  const preview = previewIn(opened)
  await page.getByLabel('Language', { exact: true }).selectOption('de')
  await preview.getByText('Bitte bestätige, dass diese Adresse').waitFor()
  const text = page.getByLabel('Text', { exact: true })
  await text.fill('Willkommen!\n\nDer Link gilt {hours} Stunden.\n<b>Bis bald</b>')
  await preview.getByText('<b>Bis bald</b>').waitFor()
  expect(await textOf(preview.locator('.card'))).toBe(
    'Sunrise Willkommen! Der Link gilt 24 Stunden.<b>Bis bald</b> Adresse bestätigen',
  )
  const background = () =>
    preview
      .locator('body')
      .evaluate(`getComputedStyle(document.querySelector('.card')).backgroundColor`)
  expect(await background()).toBe('rgb(255, 255, 255)')
  await page.getByLabel('Shown as').selectOption('Dark')
  expect(await background()).toBe('rgb(30, 34, 37)')
  await page.getByLabel('Shown as').selectOption('Plain text')
  expect(await page.locator('pre').textContent()).toContain('\n\nAdresse bestätigen:\nhttp')
  await review(page)
  const changes = page.getByRole('dialog').locator('.changes').first()
  expect(await textOf(changes)).toContain(
    'Verify e-mail › Text (German): set to Willkommen! Der Link gilt {hours} Stunden.',
  )
  await press(page, 'Cancel')
  await publish(page, 'Warmer')
  expect((await world.ask('emails')).content['verify-email'].text.de).toStartWith('Willkommen!')
  await page.getByRole('link', { name: 'History' }).click()
  await press(page, 'Roll back to version 1')
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click()
  await page.getByText('Rolled back to version 1,').waitFor()
  expect((await world.ask('emails')).content).toEqual({})
  expect(faults).toEqual([])
  await context.close()
})

browserTest('leads to the e-mail and the language of a refused text', async () => {
  const { page, context } = await openEmails()
  const choose = (label: string, value: string) =>
    page.getByLabel(label, { exact: true }).selectOption(value)
  await choose('E-mail', 'email-code')
  await choose('Language', 'de')
  await page.getByLabel('Text', { exact: true }).fill('Hallo {name}')
  await choose('E-mail', 'verify-email')
  await choose('Language', 'en')
  await review(page)
  await press(page, 'Publish change')
  await page.getByText('Must contain {code}.').waitFor()
  expect(await page.getByLabel('E-mail', { exact: true }).inputValue()).toBe('email-code')
  expect(await page.getByLabel('Text', { exact: true }).inputValue()).toBe('Hallo {name}')
  await press(page, 'Use the built-in texts')
  await page.getByText('unpublished change').waitFor({ state: 'hidden' })
  await context.close()
})

browserTest(
  'sends a test e-mail with the draft from a phone, with a new language and frame',
  async () => {
    const { page, context, faults } = await openEmails(375)
    await page.getByLabel('New language').fill('French')
    await press(page, 'Add language')
    await page.getByLabel('Subject', { exact: true }).fill('Bienvenue chez {app}')
    await page.getByLabel('Text', { exact: true }).fill('Bonjour !')
    await page.getByLabel('Button', { exact: true }).fill('Confirmer')
    await page.getByText('Frame around every e-mail, in French').click()
    await page.getByLabel('Accent color').fill('#c2410c')
    await page.getByLabel('Footer').fill('{app} SARL')
    await press(page, 'Send a test e-mail')
    await page.getByLabel('Send to').fill('me@example.com')
    await page.getByRole('dialog').getByRole('button', { name: 'Send a test e-mail' }).click()
    await page.getByText('Test e-mail sent').waitFor()
    const mail = await smtp.next('me@example.com')
    expect(mail.subject).toBe('[Test] Bienvenue chez Sunrise')
    expect(mail.text).toContain('background:#c2410c')
    expect(mail.text).toContain('Sunrise SARL')
    expect((await world.ask('emails')).content).toEqual({})
    expect(faults).toEqual([])
    await context.close()
  },
)

browserTest('the frame of the preview runs no scripts and shows the logo', async () => {
  const opened = await openEmails()
  const { page, context } = opened
  const requested: string[] = []
  await context.route('https://cdn.example.com/**', (route) => {
    requested.push(route.request().url())
    return route.fulfill({
      contentType: 'image/svg+xml',
      body: '<svg xmlns="http://www.w3.org/2000/svg"/>',
    })
  })
  await page.getByText('Frame around every e-mail').click()
  await page.getByLabel('Logo URL').fill('https://cdn.example.com/logo.svg')
  await until(() => requested.length > 0, 'the logo was not loaded')
  const sandbox = await page.locator('iframe.mail').getAttribute('sandbox')
  expect(sandbox).toBe('allow-same-origin')
  await context.close()
})

browserTest('the checklist of a new server leads to the e-mails', async () => {
  const { page, context } = await world.open()
  await show(page, '')
  await page.getByText(/^Finish the setup/).click()
  await page.getByRole('link', { name: 'Send e-mails' }).click()
  await page.getByRole('heading', { name: 'E-mails', exact: true }).waitFor()
  await context.close()
})
