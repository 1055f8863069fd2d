import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { readExample } from '../support/app-projects.ts'
import { installClient } from '../support/client-package.ts'

/** The entries `homeport-client/testing` and `homeport-client/react`, as apps install them. */
const ROOT = join(import.meta.dir, '..', '..')
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc')
const RUNTIMES = [process.execPath, Bun.which('node')].filter((path) => path !== null)
const COMPILER_TIMEOUT_MS = 60_000

/** Apps that use every type of an entry. */
const APPS = ['testing-app.ts', 'react-app.ts']
/** The complete examples in TypeScript, by page. */
const EXAMPLES = {
  'client.md': ['sign-in.ts', 'session-storage.ts'],
  'client-testing.md': ['trial.test.ts'],
  'user-data.md': ['preferences.tsx'],
  'client-react.md': ['app.tsx', 'sign-in-form.tsx', 'paywall.tsx', 'account.tsx', 'app.test.tsx'],
}
/** The packages and globals of the app that the examples use. */
const GLOBALS = `
declare const test: (name: string, work: () => Promise<void>) => void
declare const expect: (value: unknown) => { toBe: (wanted: unknown) => void }
declare module 'react-native' { export const Platform: { OS: string } }
declare module '@testing-library/react'
declare module '@react-native-async-storage/async-storage' {
  const AsyncStorage: {
    getItem: (key: string) => Promise<string | null>
    setItem: (key: string, value: string) => Promise<void>
    removeItem: (key: string) => Promise<void>
  }
  export default AsyncStorage
}
declare module 'expo-secure-store' {
  type Options = { keychainAccessible: number }
  export const AFTER_FIRST_UNLOCK: number
  export function getItemAsync(key: string, options: Options): Promise<string | null>
  export function setItemAsync(key: string, value: string, options: Options): Promise<void>
  export function deleteItemAsync(key: string, options: Options): Promise<void>
}`
/** The largest sizes, in bytes, minified. */
const LIMITS = { 'testing.js': 60_000, 'react.js': 6_500 }

let app = ''
let folder = ''

beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), 'homeport-entries-'))
  folder = await installClient(app)
  await writeFile(join(app, 'package.json'), JSON.stringify({ type: 'module' }))
  for (const name of APPS) await cp(join(ROOT, 'test', 'fixtures', 'client', name), join(app, name))
  for (const name of ['@types/react', 'csstype']) {
    const path = join('node_modules', name)
    await cp(join(ROOT, path), join(app, path), { recursive: true })
  }
})
afterAll(() => rm(app, { recursive: true, force: true }))

test.each(['bundler', 'nodenext'])(
  'apps with strict settings (%s) and their own React types compile',
  async (moduleResolution) => {
    expect(await compile(APPS, moduleResolution)).toBe('')
  },
  COMPILER_TIMEOUT_MS,
)

test(
  'the examples of the pages compile with strict settings, and sign in',
  async () => {
    const names: string[] = []
    for (const [page, examples] of Object.entries(EXAMPLES)) {
      names.push(...examples)
      for (const name of examples) await writeFile(join(app, name), await readExample(name, page))
    }
    await writeFile(join(app, 'globals.d.ts'), GLOBALS)
    expect(await compile(['globals.d.ts', ...names], 'bundler')).toBe('')
    await writeFile(join(app, 'signs-in.ts'), SIGN_IN_SCRIPT)
    const { stdout, stderr } = Bun.spawnSync([process.execPath, 'signs-in.ts'], { cwd: app })
    const printed = ['guest', 'email', 'email', 'That is not correct. Try again.', 'photo.webp']
    expect([stdout.toString(), stderr.toString()]).toEqual([`${printed.join('\n')}\n`, ''])
  },
  COMPILER_TIMEOUT_MS,
)

/** A guest becomes a user with an e-mail code; another user signs in with a password and two-factor. */
const SIGN_IN_SCRIPT = `
import { createClient } from 'homeport-client'
import { createFakeServer } from 'homeport-client/testing'
import { continueAsGuest, describeError, signInWithCode, signInWithPassword } from './sign-in'

const server = createFakeServer()
const { url: baseUrl, fetch, now, twoFactorCode } = server
const api = createClient({ baseUrl, fetch, now })
const email = 'ann@example.com'
const bob = server.addUser({ email: 'bob@example.com', password: 'correct horse battery', twoFactor: true })
console.log((await continueAsGuest(api)).loginType)
console.log((await signInWithCode(api, email, async () => server.lastCode(email))).loginType)
await api.logout()
const ask = async () => twoFactorCode
console.log((await signInWithPassword(api, bob.email, 'correct horse battery', ask)).loginType)
await signInWithPassword(api, bob.email, 'wrong', ask).catch((error) => console.log(describeError(error)))
const files = [{ name: 'a.png', data: new Uint8Array([65]) }]
const upload = { type: 'publicAsset', files } as const
for (const { fileName } of await api.uploadAttachments(upload)) console.log(fileName)`

/** The compiler's output with strict settings. */
async function compile(files: string[], moduleResolution: string): Promise<string> {
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noPropertyAccessFromIndexSignature: true,
    skipLibCheck: false,
    noEmit: true,
    target: 'ES2022',
    lib: ['ES2022', 'DOM'],
    types: [],
    jsx: 'react-jsx',
    module: moduleResolution === 'bundler' ? 'ESNext' : 'NodeNext',
    moduleResolution,
  }
  const settings = `${moduleResolution}.json`
  await writeFile(join(app, settings), JSON.stringify({ compilerOptions, files }))
  const command = [process.execPath, TSC, '-p', settings]
  return Bun.spawnSync(command, { cwd: app }).stdout.toString()
}

const FAKE_SCRIPT = `
const { url: baseUrl, fetch, now, mails } = createFakeServer()
const api = createClient({ baseUrl, fetch, now })
api.register({ email: 'ann@example.com', password: 'correct horse battery' })
  .then(() => api.readProfile())
  .then(({ email }) => console.log(email, mails[0].kind))`

test.each(RUNTIMES.map((path) => [basename(path), path] as const))(
  'the fake server runs in %s without other packages, with import and with require',
  async (_name, runtime) => {
    const names = {
      'homeport-client': 'createClient',
      'homeport-client/testing': 'createFakeServer',
    }
    const pairs = Object.entries(names)
    const scripts = {
      mjs: pairs.map(([path, name]) => `import { ${name} } from '${path}'`),
      cjs: pairs.map(([path, name]) => `const { ${name} } = require('${path}')`),
    }
    for (const [extension, lines] of Object.entries(scripts)) {
      await writeFile(join(app, `fake.${extension}`), lines.join('\n') + FAKE_SCRIPT)
      const { stdout, stderr } = Bun.spawnSync([runtime, `fake.${extension}`], { cwd: app })
      expect([stdout.toString(), stderr.toString()]).toEqual(['ann@example.com verify-email\n', ''])
    }
  },
)

test('the entries are small, independent files that the client does not load', async () => {
  for (const [name, limit] of Object.entries(LIMITS)) {
    for (const path of [name, `cjs/${name}`]) {
      const text = await Bun.file(join(folder, path)).text()
      expect([path, text.length < limit]).toEqual([path, true])
      const imports = [...text.matchAll(/(?:from|require\()\s*"([^"]+)"/g)].map(([, from]) => from)
      expect([
        path,
        imports.filter((from) => !['react', './p256.js'].includes(from ?? '')),
      ]).toEqual([path, []])
    }
  }
  for (const name of ['client', 'sealed-transport', 'api-error']) {
    const text = await Bun.file(join(folder, `${name}.js`)).text()
    expect([name, /"react"|\.\/(react|testing)\.js|createFakeServer/.test(text)]).toEqual([
      name,
      false,
    ])
  }
})

test('React is an optional peer', async () => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = await Bun.file(
    join(folder, 'package.json'),
  ).json()
  expect(dependencies).toBeUndefined()
  expect(peerDependencies).toEqual({ react: '>=18' })
  expect(peerDependenciesMeta).toEqual({ react: { optional: true } })
})
