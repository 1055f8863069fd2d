import { beforeAll, expect, test } from 'bun:test'
import { CHROMIUM, openView, press, waitForElement } from '../../support/browser.ts'
import { buildExecutable, installExecutable } from '../../support/executable.ts'
import { register } from '../../support/requests.ts'
import { until } from '../../support/until.ts'

/** The dark background of Swagger UI. */
const DARK = 'rgb(28, 32, 34)'
const READ = '#operations-Profile-readProfile'

beforeAll(buildExecutable, 300_000)

test.skipIf(CHROMIUM === null)(
  'the docs page can send a request with a token',
  async () => {
    await using homeport = await installExecutable()
    const server = await homeport.start()
    const { accessToken } = await register(server, 'ann@example.com')
    await using view = openView()
    await view.navigate(`${server.url}/docs`)
    await press(view, '.btn.authorize')
    await waitForElement(view, '.auth-container input')
    await view.click('.auth-container input')
    await view.type(accessToken)
    for (const button of ['.auth-btn-wrapper .authorize', '.btn-done']) await press(view, button)
    for (const part of ['.opblock-summary-control', '.try-out__btn', '.execute']) {
      await press(view, `${READ} ${part}`)
    }
    const reply = await waitForElement(view, `${READ} .live-responses-table .highlight-code`)
    expect(reply).toContain('ann@example.com')
  },
  30_000,
)

test.skipIf(CHROMIUM === null)(
  'the docs page follows the colours of the system',
  async () => {
    await using homeport = await installExecutable()
    const server = await homeport.start()
    await using view = openView()
    await view.navigate(`${server.url}/docs`)
    await waitForElement(view, '.opblock')
    const background = 'getComputedStyle(document.documentElement).backgroundColor'
    for (const value of ['dark', 'light']) {
      const features = [{ name: 'prefers-color-scheme', value }]
      await view.cdp('Emulation.setEmulatedMedia', { features })
      const isShown = async () =>
        ((await view.evaluate(background)) === DARK) === (value === 'dark')
      await until(isShown, `the page does not become ${value}`)
    }
  },
  30_000,
)
