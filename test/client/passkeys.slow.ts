import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestApp } from '../support/app.ts'
import { readExample } from '../support/app-projects.ts'
import { bundle, CHROMIUM } from '../support/browser.ts'
import { openBrowser } from '../support/console-browser.ts'

const TIMEOUT_MS = 60_000

/** A web app on another origin than the server, with the code of the manual. */
async function startWebApp(apiUrl: () => string) {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-passkeys-'))
  const client = join(import.meta.dir, '../../src/client/client.ts')
  await Bun.write(join(folder, 'passkeys.js'), await readExample('passkeys.js', 'sign-in.md'))
  await Bun.write(
    join(folder, 'main.js'),
    `import { createClient } from ${JSON.stringify(client)}
import { addPasskey, signInWithPasskey } from './passkeys.js'
const api = createClient({ baseUrl: API_URL, storage: localStorage })
Object.assign(globalThis, { api, addPasskey, signInWithPasskey })`,
  )
  const script = await bundle(join(folder, 'main.js'))
  const server = Bun.serve({
    port: 0,
    fetch: ({ url }) =>
      url.endsWith('.js')
        ? new Response(`const API_URL = '${apiUrl()}'\n${script}`, {
            headers: { 'content-type': 'text/javascript' },
          })
        : new Response(
            '<!doctype html><title>x</title><input autocomplete="username webauthn"><script type="module" src="/main.js"></script>',
            { headers: { 'content-type': 'text/html' } },
          ),
  })
  return {
    url: `http://localhost:${server.port}`,
    async [Symbol.asyncDispose]() {
      await server.stop(true)
      await rm(folder, { recursive: true })
    },
  }
}

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

    const guest = await run<{ user: { _id: string } }>('return api.startAsGuest()')
    const added = await run<{ name: string }>("return addPasskey(api, { name: 'Laptop' })")
    expect(added.name).toBe('Laptop')
    await run('await api.logout()')
    const signedIn = await run<{ user: object }>('return signInWithPasskey(api)')
    expect(signedIn.user).toMatchObject({ _id: guest.user._id, loginType: 'passkey' })

    await run('await api.logout()')
    // The virtual authenticator chooses the passkey that the form would offer.
    const byForm = await run<{ user: object }>(
      "return signInWithPasskey(api, { mediation: 'conditional' })",
    )
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
