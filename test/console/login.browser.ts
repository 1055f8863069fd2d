import { expect } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import { chromium, type Page } from 'playwright-core'
import { MINIMUM_TEXT } from '../../scripts/build-console.ts'
import { browserTest, independentTest, useConsole } from '../support/console.ts'
import { LAUNCH, PLAIN_HOST, textOf, waitUntilLoaded } from '../support/console-browser.ts'
import { until } from '../support/until.ts'

const world = useConsole({ args: [], hasNoOwner: true })

browserTest('explains how to create the first operator', async () => {
  const { page, context, faults } = await world.openSignedOut()
  await page.goto('/')
  expect(page.url()).toBe(`${world.console.url}/`)
  // The command has the executable's full path.
  const command = await textOf(page.locator('code'))
  expect(command).toMatch(/^\/\S+\/homeport operators add your-name$/)
  await page.getByText('shows a link that creates the first operator').waitFor()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
  await page.getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await copied()).toBe(command)
  await page.goto('/console')
  expect(await textOf(page.locator('pre'))).toBe(command)
  await page.evaluate("navigator.clipboard.writeText('')")
  await page.getByRole('button', { name: 'Copy' }).click()
  await until(async () => (await copied()) === command, 'the command was not copied')
  expect(faults).toEqual([])
  await page.context().close()
})

browserTest('redirects / to the console once an operator exists', async () => {
  await world.console.linkFor('ann')
  const { page } = await world.openSignedOut()
  await page.goto('/')
  await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
  expect(page.url()).toBe(`${world.console.url}/console`)
  await page.context().close()
})

independentTest('signs in with the passkey created from an invitation', async () => {
  const link = await world.console.linkFor('bob')
  const { page, faults } = await world.openSignedOut()
  await page.goto(link)
  await page.getByText('Hello bob.').waitFor()
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  await waitForOverview(page)
  await page.getByRole('link', { name: 'bob' }).click()
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await waitForOverview(page)
  await page.reload()
  await waitForOverview(page)
  expect(faults).toEqual([])
  await page.context().close()
})

independentTest('removes the token from the address and sends it to the server only', async () => {
  const link = await world.console.linkFor('carol')
  const token = link.split('=').at(-1) ?? ''
  const { page } = await world.openSignedOut()
  const sent: string[] = []
  page.on('request', (request) =>
    sent.push(request.url(), JSON.stringify(request.headers()).replace(/"referer":""/, '')),
  )
  await page.goto(link)
  await page.getByText('Hello carol.').waitFor()
  expect(page.url()).toBe(`${world.console.url}/console`)
  const readableState =
    'JSON.stringify([location.href, document.referrer, { ...localStorage }, { ...sessionStorage }])'
  const historyUrls = 'JSON.stringify(navigation.entries().map(({ url }) => url))'
  for (const expression of [readableState, historyUrls]) {
    expect(await page.evaluate<string>(expression)).not.toContain(token)
  }
  const requests = sent.filter((text) => text !== link).join(' ')
  expect(requests).toContain('/console/api/login/link')
  expect(requests).not.toContain(token)
  await page.context().close()
})

independentTest('an invitation works once', async () => {
  const link = await world.console.linkFor('dave')
  const first = await world.openSignedOut()
  await first.page.goto(link)
  await first.page.getByRole('button', { name: 'Create a passkey' }).click()
  await waitForOverview(first.page)
  const second = await world.openSignedOut()
  await second.page.goto(link)
  const message = await textOf(second.page.getByRole('alert'))
  expect(message).toContain('it was used')
  expect(await second.page.getByRole('button').count()).toBe(0)
  await Promise.all([first.context.close(), second.context.close()])
})

independentTest('a reset signs the operator out until the new link is used', async () => {
  const { page, context } = await world.openSignedOut()
  await page.goto(await world.console.linkFor('erin'))
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  await waitForOverview(page)
  const link = await world.console.linkFor('erin', 'reset')
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  expect(await textOf(page.locator('.message.bad'))).toContain('passkey')
  // Changing only the fragment would not reload the page.
  await page.goto('about:blank')
  await page.goto(link)
  await page.getByText('Hello erin.').waitFor()
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  await waitForOverview(page)
  await context.close()
})

independentTest('signs in with a password and a one-time or recovery code', async () => {
  const { page, context, faults } = await world.openSignedOut()
  await page.goto(await world.console.linkFor('frank'))
  await page.getByRole('button', { name: 'Use a password' }).click()
  const shown = await textOf(page.locator('form code'))
  expect(shown).toMatch(/^([A-Z2-7]{4} ){7}[A-Z2-7]{4}$/)
  const secret = Secret.fromBase32(shown)
  await page.getByLabel('New password').fill('a long enough secret')
  await page.getByLabel(/^Code/).fill(new TOTP({ secret }).generate())
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor()
  const codes = await page.locator('.codes li').allTextContents()
  expect(new Set(codes).size).toBe(10)
  await page.getByRole('button', { name: 'I saved these codes' }).click()
  await waitForOverview(page)
  await context.clearCookies()
  await page.reload()
  await signIn(page, 'frank', codes[0])
  await waitForOverview(page)
  expect(faults).toEqual([])
  await context.clearCookies()
  await page.reload()
  await signIn(page, 'frank', codes[0])
  await page.locator('.message.bad').waitFor()
  await context.close()
})

for (const [place, host, script, reason] of [
  [
    'in a browser without passkeys',
    'localhost',
    'delete window.PublicKeyCredential',
    'This browser',
  ],
  ['at an IP address', '127.0.0.1', '', 'Passkeys need a host name'],
] as const) {
  independentTest(`offers only a password, and says why, ${place}`, async () => {
    const { page, context } = await world.openSignedOut()
    await context.addInitScript(script)
    const link = await world.console.linkFor(`kim at ${host}`)
    await page.goto(link.replace('localhost', host))
    await page.getByLabel('New password').waitFor()
    expect(await textOf(page.locator('main'))).toContain(reason)
    await page.goto(`http://${host}:${world.console.port}/console`)
    await page.getByLabel('Password').waitFor()
    expect(await textOf(page.locator('main'))).toContain(reason)
    expect(await page.getByRole('button', { name: 'passkey' }).count()).toBe(0)
    await context.close()
  })
}

independentTest('says that the browser keeps no cookies before it uses up a link', async () => {
  const link = await world.console.linkFor('hanna')
  const profile = await mkdtemp(join(tmpdir(), 'homeport-blocked-'))
  const settings = { profile: { default_content_setting_values: { cookies: 2 } } }
  await Bun.write(join(profile, 'Default', 'Preferences'), JSON.stringify(settings))
  const blocking = await chromium.launchPersistentContext(profile, LAUNCH)
  const blocked = await blocking.newPage()
  for (const path of [link, `${world.console.url}/console`]) {
    await blocked.goto(path)
    const message = await textOf(blocked.getByRole('alert'))
    expect(message).toContain('This browser does not keep cookies for localhost')
    expect(await blocked.getByRole('button').allTextContents()).toEqual(['Try again'])
  }
  await blocking.close()
  await rm(profile, { recursive: true })
  const { page, context } = await world.openSignedOut()
  await page.goto(link)
  await page.getByText('Hello hanna.').waitFor()
  await context.close()
})

independentTest('an older browser shows which versions the console needs', async () => {
  const { page, context, faults } = await world.openSignedOut()
  await context.addInitScript('delete Map.groupBy')
  await page.goto('/console')
  await page.getByRole('heading', { name: 'This browser is too old' }).waitFor()
  expect(await textOf(page.locator('main'))).toContain(MINIMUM_TEXT)
  expect(await page.getByRole('button').count()).toBe(0)
  expect(faults).toEqual([])
  await context.close()
})

independentTest('submits the set-up form with Enter', async () => {
  const { page, context } = await world.openSignedOut()
  await page.goto(await world.console.linkFor('grace'))
  await page.getByRole('button', { name: 'Use a password' }).click()
  const secret = Secret.fromBase32(await textOf(page.locator('form code')))
  await page.getByLabel('New password').fill('a long enough secret')
  await page.getByLabel(/^Code/).fill(new TOTP({ secret }).generate())
  await page.getByLabel(/^Code/).press('Enter')
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor()
  await context.close()
})

independentTest('asks for HTTPS when loaded over plain HTTP', async () => {
  const { page } = await world.openSignedOut()
  await page.goto(`http://${PLAIN_HOST}:${world.console.port}/console`)
  await page.getByRole('heading', { name: 'The console needs HTTPS' }).waitFor()
  const message = await textOf(page.locator('main'))
  for (const way of ['TLS_DOMAINS', 'ssh -L']) expect(message).toContain(way)
  expect(await page.getByRole('button').count()).toBe(0)
  await page.context().close()
})

async function waitForOverview(page: Page) {
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await waitUntilLoaded(page)
}

async function signIn(page: Page, name: string, code = '') {
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill('a long enough secret')
  await page.getByLabel(/^Code/).fill(code)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}
