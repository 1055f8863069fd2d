import { expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { CHROMIUM } from '../support/browser.ts'
import { openBrowser } from '../support/console-browser.ts'
import { startWebApp } from '../support/web-app.ts'

const TIMEOUT_MS = 60_000

test.skipIf(CHROMIUM === null)(
  'a web app adds a passkey in Chromium, signs in with it and with the form, and removes it',
  async () => {
    let apiUrl = ''
    await using web = await startWebApp(() => apiUrl)
    await using app = await createTestApp({
      BASE_URL: 'http://localhost:3000',
      CORS_ORIGINS: web.url,
      PASSKEY_ORIGINS: web.url,
    })
    const { server } = app.app.listen({ port: 0, hostname: '127.0.0.1' })
    apiUrl = `http://localhost:${server?.port}`
    await using browser = await openBrowser()
    const { page } = await browser.open()
    await page.goto(web.url)
    const run = <T>(code: string) => page.evaluate<T>(`(async () => { ${code} })()`)
    // As in engines of 2023: the package does the conversions that they lack.
    await run(
      'for (const name of ["parseCreationOptionsFromJSON", "parseRequestOptionsFromJSON"]) delete PublicKeyCredential[name]; delete PublicKeyCredential.prototype.toJSON',
    )

    const guest = await run<{ user: { _id: string } }>('return api.startAsGuest()')
    const added = await run<{ name: string }>("return addPasskey(api, { name: 'Laptop' })")
    expect(added.name).toBe('Laptop')
    await run('await api.logout()')
    const signedIn = await run<{ user: object }>('return signInWithPasskey(api)')
    expect(signedIn.user).toMatchObject({ _id: guest.user._id, loginType: 'passkey' })

    await run('await api.logout()')
    // The virtual authenticator chooses the passkey that the form would offer.
    const byForm = await run<{ user: object }>('return signInWithPasskey(api, { isInForm: true })')
    expect(byForm.user).toMatchObject({ _id: guest.user._id })

    // The device has the first passkey already, and refuses to create another for the user.
    const second = await run<string>('return addPasskey(api).catch(({ name }) => name)')
    expect(second).toBe('InvalidStateError')
    const last = await run<string>(
      'const [{ _id }] = await api.listPasskeys(); return api.removePasskey({ id: _id }).catch(({ code }) => code)',
    )
    expect(last).toBe('conflict')
    await app.app.server?.stop(true)
  },
  TIMEOUT_MS,
)

test.skipIf(CHROMIUM === null)(
  'a web app reads settings that have just changed, even if the browser may cache them',
  async () => {
    let apiUrl = ''
    await using web = await startWebApp(() => apiUrl)
    await using app = await createTestApp({ CORS_ORIGINS: web.url })
    const { server } = app.app.listen({ port: 0, hostname: '127.0.0.1' })
    apiUrl = `http://localhost:${server?.port}`
    await using browser = await openBrowser()
    const { page } = await browser.open()
    await page.goto(web.url)
    const read = () =>
      page.evaluate<boolean>('api.readAppSettings().then(({ hardPaywall }) => hardPaywall)')
    const before = await read()
    await app.services.settings.set({ hardPaywall: !before })
    expect(await read()).toBe(!before)
    await app.app.server?.stop(true)
  },
  TIMEOUT_MS,
)
