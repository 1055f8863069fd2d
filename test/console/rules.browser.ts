import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { browserTest, useConsole } from '../support/console.ts'
import { becomeReader, press, publish, review, show, textOf } from '../support/console-browser.ts'

const SETTINGS = '/api/user/app_settings/v1'

const world = useConsole({
  args: [],
  environment: { COUNTRY_HEADER: 'X-Country', TRUSTED_PROXIES: '127.0.0.1,::1' },
})

browserTest('previews and publishes a custom setting with a rule', async () => {
  const { page, context } = await world.open()
  await show(page, 'settings')
  await page.getByLabel('Name').fill('newPaywall')
  await press(page, 'Add setting')
  await press(page, 'Add rule to newPaywall')
  const rule = page.getByRole('group', { name: 'Rule 1' })
  await rule.getByRole('combobox', { name: 'Platform' }).selectOption('iOS')
  await rule.getByLabel('From version').fill('2.3.0')
  await rule.getByLabel('Languages', { exact: true }).fill('Portuguese, es')
  await rule.getByLabel('Value').selectOption('Yes')
  const preview = async (version: string, language: string) => {
    await page.getByLabel('App version').fill(version)
    await page.getByLabel('Language', { exact: true }).fill(language)
    return explanationOf(page, 'newPaywall')
  }
  expect(await preview('2.3.1', 'pt-BR')).toEqual([
    'newPaywall: yes',
    'Rule 1 matched: platform is iOS, version is 2.3.1, language is pt-BR.',
  ])
  expect(await preview('2.2.9', 'pt-BR')).toEqual([
    'newPaywall: no',
    'Rule 1 did not match: version is 2.2.9, the rule requires 2.3.0 or newer.',
    'The default value applies.',
  ])
  expect((await preview('2.3.1', 'de')).at(0)).toBe('newPaywall: no')
  await rule.getByLabel('From version').fill('2.2.0')
  expect(await page.getByText('newPaywall: no').count()).toBe(0)
  await rule.getByLabel('From version').fill('2.3.0')
  expect((await readApp(SETTINGS)).features).toBeUndefined()
  await publish(page)
  const featuresOn = async (platform: string, version: string) =>
    (await readApp(SETTINGS, { 'App-Platform': platform, 'App-Version': version })).features
  expect(await featuresOn('iOS', '2.3.1')).toEqual({ newPaywall: true })
  expect(await featuresOn('Android', '2.3.1')).toEqual({ newPaywall: false })
  expect(await featuresOn('iOS', '2.2.9')).toEqual({ newPaywall: false })
  await context.close()
})

browserTest('publishes a minimum version for 20% of users in Germany', async () => {
  const { page, context } = await world.open()
  await show(page, 'settings')
  const ios = page.getByRole('group', { name: 'iOS' })
  await ios.getByLabel('Latest version', { exact: true }).fill('3.2')
  await press(page, 'Add rule to iOS supported version')
  const rule = ios.getByRole('group', { name: 'Rule 1' })
  expect(await page.evaluate('document.activeElement.tagName')).toBe('INPUT')
  await rule.getByLabel('Countries', { exact: true }).fill('ger')
  await rule.getByLabel('Percentage of users').fill('20')
  await rule.getByLabel('Value').fill('3.2')
  await page.getByLabel('Country', { exact: true }).fill('Austria')
  expect(await explanationOf(page, 'iOS supported version')).toEqual([
    'iOS supported version: 1.0.0',
    expect.stringMatching(
      /^Rule 1 did not match: country is AT, the rule requires DE(; 20% does not include .*)?\.$/,
    ),
    'The default value applies.',
  ])
  await review(page)
  const changes = page.getByRole('dialog', { name: 'Publish these changes' }).locator('.changes li')
  await changes.first().waitFor()
  expect(await Promise.all((await changes.all()).map(textOf))).toEqual([
    'iOS latest version: 1.0.0 → 3.2',
    'iOS supported version, rule 1: set to 3.2 in Germany for 20% of users',
  ])
  await press(page, 'Publish 2 changes')
  await page.getByText('Published.').waitFor()
  const supported = async (country: string, device: number) => {
    const headers = { 'X-Country': country, 'Device-Id': `device-${device}` }
    return (await readApp(SETTINGS, headers)).ios.supportedVersion
  }
  const devices = Array.from({ length: 200 }, (_, at) => at)
  const inGermany = await Promise.all(devices.map((at) => supported('DE', at)))
  const included = inGermany.filter((version) => version === '3.2').length
  expect(included).toBeWithin(20, 61)
  expect(await Promise.all(devices.map((at) => supported('DE', at)))).toEqual(inGermany)
  expect(await supported('AT', inGermany.indexOf('3.2'))).toBe('1.0.0')
  await page.getByRole('link', { name: 'History' }).click()
  await page.getByText('rule 1: set to 3.2 in Germany for 20% of users').waitFor()
  await context.close()
})

browserTest(
  'reorders and removes rules by keyboard, and names the one with an invalid value',
  async () => {
    const { page, context } = await world.open()
    await show(page, 'settings')
    for (const value of ['first', 'second']) {
      await press(page, 'Add rule to Support e-mail')
      await page.getByRole('textbox', { name: 'Value' }).fill(`${value}@example.com`)
      await page.getByLabel('Below version').fill(value === 'first' ? '2' : '3')
    }
    const rules = page
      .getByRole('list', { name: 'Rules for Support e-mail' })
      .locator('li > span:first-child')
    await page.getByRole('button', { name: 'Move rule 2 for Support e-mail up' }).focus()
    await page.keyboard.press('Enter')
    expect(await Promise.all((await rules.all()).map(textOf))).toEqual([
      '1. second@example.com below 3',
      '2. first@example.com below 2',
    ])
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe(
      'Edit rule 1 for Support e-mail',
    )
    await review(page)
    const dialog = page.getByRole('dialog', { name: 'Publish these changes' })
    await dialog
      .getByText('Support e-mail, rule 2 never applies, because rule 1 matches first.')
      .waitFor()
    await press(page, 'Cancel')
    await press(page, 'Edit rule 2 for Support e-mail')
    await page.getByRole('textbox', { name: 'Value' }).fill('nowhere')
    await press(page, 'Close rule 2 for Support e-mail')
    await review(page)
    await press(page, 'Publish 2 changes')
    const invalid = page
      .getByRole('textbox', { name: 'Value' })
      .and(page.locator('[aria-invalid=true]'))
    await invalid.waitFor()
    expect(await page.evaluate('document.activeElement.ariaInvalid')).toBe('true')
    await press(page, 'Remove rule 2 for Support e-mail')
    expect(await rules.count()).toBe(1)
    expect(await page.evaluate('document.activeElement.textContent')).toBe(
      'Add rule to Support e-mail',
    )
    await page.reload()
    await press(page, 'Restore')
    await rules.nth(1).waitFor({ state: 'detached' })
    expect(await textOf(rules)).toBe('1. second@example.com below 3')
    await press(page, 'Discard changes')
    await context.close()
  },
)

browserTest('a second editor keeps the rules that the first has published', async () => {
  const { page: mine, newPage, context } = await world.open()
  const other = await newPage()
  for (const page of [mine, other]) await show(page, 'settings')
  await press(other, 'Add rule to Terms URL')
  await other.getByRole('combobox', { name: 'Platform' }).first().selectOption('Web')
  await publish(other)
  await mine.bringToFront()
  await press(mine, 'Add rule to Privacy URL')
  await mine.getByRole('combobox', { name: 'Platform' }).first().selectOption('Android')
  await review(mine)
  await press(mine, 'Publish change')
  await press(mine, 'Reapply my changes')
  await press(mine, 'Publish change')
  await mine.getByText('Published.').waitFor()
  const { rules } = (await world.ask('settings')).content
  expect(rules.termsUrl[0].when).toEqual({ platform: 'web' })
  expect(rules.privacyUrl[0].when).toEqual({ platform: 'android' })
  await context.close()
})

browserTest('reports an unknown country at its field', async () => {
  const { page, context } = await world.open()
  await show(page, 'settings')
  await press(page, 'Add rule to App Store link')
  const countries = page.getByLabel('Countries', { exact: true })
  await countries.fill('Narnia, Côte d’Ivoire')
  await page.getByRole('heading', { name: 'Settings' }).click()
  await page.getByText('Unknown: Narnia.').waitFor()
  await review(page)
  await press(page, 'Publish change')
  await page.getByText('Must be a country code such as BR.').waitFor()
  expect(await page.evaluate('document.activeElement.ariaInvalid')).toBe('true')
  await press(page, 'Remove Narnia')
  expect(await page.getByText('Must be a country code such as BR.').count()).toBe(0)
  await publish(page)
  const { rules } = (await world.ask('settings')).content
  expect(rules.appStoreLink[0].when).toEqual({ countries: ['CI'] })
  await context.close()
})

browserTest('readers see rules in words', async () => {
  const { version, content } = await world.ask('settings')
  const rules = { hardPaywall: [{ when: { countries: ['DE'], percent: 20 }, value: true }] }
  await world.ask('settings/publish', { base: version, note: '', content: { ...content, rules } })
  const { page, context } = await world.open()
  await becomeReader(page)
  await show(page, 'settings')
  await page.getByText('no by default; yes in Germany for 20% of users').waitFor()
  expect(await page.getByRole('button', { name: /rule/ }).count()).toBe(0)
  await context.close()
})

/** The heading and the reasons of a setting in the preview. */
async function explanationOf(page: Page, name: string): Promise<string[]> {
  const answered = page.waitForResponse('**/preview/settings')
  await press(page, 'Show')
  await answered
  await page.locator('.explained').waitFor()
  const setting = page.locator('.explained > div', { hasText: `${name}:` })
  return Promise.all((await setting.locator('h3, li').all()).map(textOf))
}

/** Reads a public endpoint as an app does. */
async function readApp(path: string, headers: Record<string, string> = {}) {
  const language = { 'Accept-Language': 'pt-BR' }
  const reply = await fetch(world.console.url + path, { headers: { ...language, ...headers } })
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  return ((await reply.json()) as { response: any }).response
}
