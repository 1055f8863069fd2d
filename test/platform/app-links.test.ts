import { expect, test } from 'bun:test'
import { checkAppLinks } from '../../src/cli/doctor/app-link-check.ts'
import { readConfig } from '../../src/config/config.ts'
import { mailLinkPaths } from '../../src/features/users/feature.ts'
import { passkeyRelyingParty, wellKnownFiles } from '../../src/platform/app-links.ts'
import { createTestApp } from '../support/app.ts'
import { startSmtp } from '../support/smtp.ts'

const PRINT = Array.from({ length: 32 }, (_, at) => at.toString(16).padStart(2, '0')).join(':')
const APK = 'android:apk-key-hash:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'

test.each([
  [{}, 'localhost', ['http://localhost:3000']],
  [
    { BASE_URL: 'https://api.example.com:8443' },
    'api.example.com',
    ['https://api.example.com:8443'],
  ],
  [
    {
      BASE_URL: 'https://api.example.com',
      PASSKEY_RP_ID: 'example.com',
      PASSKEY_ORIGINS: 'https://example.com,https://api.example.com',
      ANDROID_APPS: `com.example.app=${PRINT}, com.example.two=${PRINT}`,
    },
    'example.com',
    ['https://api.example.com', 'https://example.com', APK],
  ],
])('passkeys with %j belong to %s', (environment, rpId, origins) => {
  expect(passkeyRelyingParty(readConfig({}, environment))).toEqual({ rpId, origins })
})

const APPLE_FILE = '/.well-known/apple-app-site-association'
const ANDROID_FILE = '/.well-known/assetlinks.json'
const ORIGINS_FILE = '/.well-known/webauthn'
const APPS = {
  BASE_URL: 'https://api.example.com',
  APPLE_APP_IDS: 'ABCDE12345.com.example.app, ABCDE12345.com.example.beta',
  ANDROID_APPS: `com.example.app=${PRINT}`,
  PASSKEY_ORIGINS: 'https://www.example.org',
}

test('serves the files for app links and passkeys', async () => {
  await using app = await createTestApp({ ...APPS, PAYLOAD_ENCRYPTION: 'required' })
  const appIDs = ['ABCDE12345.com.example.app', 'ABCDE12345.com.example.beta']
  const components = ['verify', 'reset', 'cancel'].map((name) => ({
    '/': `/auth/${name}`,
    '?': { token: '?*' },
  }))
  const expected = {
    [APPLE_FILE]: {
      applinks: { details: [{ appIDs, components }] },
      webcredentials: { apps: appIDs },
    },
    [ANDROID_FILE]: [
      {
        relation: [
          'delegate_permission/common.handle_all_urls',
          'delegate_permission/common.get_login_creds',
        ],
        target: {
          namespace: 'android_app',
          package_name: 'com.example.app',
          sha256_cert_fingerprints: [PRINT.toUpperCase()],
        },
      },
    ],
    [ORIGINS_FILE]: { origins: ['https://api.example.com', 'https://www.example.org'] },
  }
  for (const [path, content] of Object.entries(expected)) {
    const { status, headers, json } = await app.ask('GET', path)
    expect([path, status, json]).toEqual([path, 200, content])
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('cache-control')).toBe('public, max-age=3600')
  }
})

test('files that are not configured get 404', async () => {
  await using app = await createTestApp()
  for (const path of [APPLE_FILE, ANDROID_FILE, ORIGINS_FILE]) {
    expect([path, (await app.ask('GET', path)).status]).toEqual([path, 404])
  }
})

test.each([{}, { APP_LINK_URL: 'https://api.example.com' }])(
  'an e-mail has one link, to the app or else to a page: %j',
  async (settings) => {
    await using smtp = await startSmtp()
    await using app = await createTestApp({ ...APPS, ...settings, SMTP_URL: smtp.url })
    await app.register('ann@example.com')
    const { text } = await smtp.next('ann@example.com')
    // One in the plain text, and one in the HTML.
    expect(text.match(/https:/g)).toHaveLength(2)
    const [link = ''] = /https:\S+/.exec(text) ?? []
    const { origin, pathname, search } = new URL(link)
    const { json } = await app.ask('GET', APPLE_FILE)
    const paths = json.applinks.details[0].components.map(
      (component: Record<string, string>) => component['/'],
    )
    expect([origin, paths.includes(pathname)]).toEqual(['https://api.example.com', true])
    expect(search).toMatch(/^\?token=.+/)
    const page = await app.ask('GET', pathname + search)
    expect(page.headers.get('content-type')).toStartWith('text/html')
  },
)

test.each([
  ['https://api.example.com', ['/auth/verify', '/auth/reset', '/auth/cancel']],
  ['https://elsewhere.example.com/open', ['/auth/verify', '/auth/reset', '/auth/cancel']],
  ['myapp://auth', ['/auth/verify', '/auth/reset', '/auth/cancel']],
  [
    'https://api.example.com/open',
    ['verify', 'reset', 'cancel'].flatMap((name) => [`/auth/${name}`, `/open/auth/${name}`]),
  ],
])('with APP_LINK_URL %s, apps open page links and the app links on this host', (link, paths) => {
  const config = readConfig({}, { ...APPS, APP_LINK_URL: link })
  expect(mailLinkPaths(config).toSorted()).toEqual(paths.toSorted())
})

test('doctor compares the files with what phones and browsers read', async () => {
  const replies: Record<string, () => Response> = {}
  using proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      const { pathname } = new URL(request.url)
      return replies[pathname]?.() ?? new Response('', { status: 404 })
    },
  })
  const url = `http://127.0.0.1:${proxy.port}`
  const config = readConfig({}, { ...APPS, BASE_URL: url })
  const files = wellKnownFiles(config, mailLinkPaths(config))
  for (const [path, file] of Object.entries(files)) replies[path] = () => Response.json(file)
  expect(await checkAppLinks(config)).toMatchObject({ state: 'ok' })
  const problems: [() => Response, string][] = [
    [() => Response.redirect('https://www.example.org'), 'redirects'],
    [() => new Response('', { status: 404 }), 'answers 404'],
    [() => new Response('{}'), 'has the type'],
    [() => Response.json({}), 'is not the file of this server'],
    [() => Response.json('x'.repeat(200_000)), 'is not the file of this server'],
  ]
  for (const path of [APPLE_FILE, ANDROID_FILE, ORIGINS_FILE]) {
    for (const [reply, detail] of problems) {
      replies[path] = reply
      expect((await checkAppLinks(config)).detail).toContain(`${url}${path} ${detail}`)
    }
    replies[path] = () => Response.json(files[path])
  }
  proxy.stop(true)
  expect((await checkAppLinks(config)).detail).toContain('does not respond')
})
