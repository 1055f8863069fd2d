import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  EXPECTED_OUTPUT,
  MAIN,
  readExample,
  report,
  run,
  SESSION_SCRIPT,
  startAppProjects,
} from '../support/app-projects.ts'

/** Installs the client from a running server into apps of each bundler, framework and test runner. */
const MINUTES = 60_000

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

let makeApp: Awaited<ReturnType<typeof startAppProjects>>['make']
let stop = async () => {}

beforeAll(async () => {
  const projects = await startAppProjects()
  makeApp = projects.make
  stop = () => projects[Symbol.asyncDispose]()
}, MINUTES)
afterAll(() => stop())

test(
  'Vite bundles the client and loads the cryptography lazily',
  async () => {
    const app = await makeApp('vite', 'vite@8')
    await writeFile(join(app, 'index.html'), '<script type="module" src="main.js"></script>')
    await writeFile(join(app, 'main.js'), MAIN)
    run(app, 'npx', 'vite', 'build', '--target', 'esnext')
    const chunks = await Array.fromAsync(new Bun.Glob('dist/assets/*.js').scan(app))
    const sealing = chunks.filter((name) => name.includes('sealed-transport'))
    expect(sealing).toHaveLength(1)
    const [entry = ''] = chunks.filter((name) => name.includes('index'))
    expect(await Bun.file(join(app, entry)).text()).not.toContain('ECDH-ES')
    await report(app, 'Vite', 'vite')
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
    await writeFile(join(app, 'session-storage.ts'), await readExample('session-storage.ts'))
    const platform = `export const Platform = { OS: 'ios' }`
    for (const [name, code] of Object.entries({
      'expo-secure-store': SECURE_STORE,
      '@react-native-async-storage/async-storage': 'export default {}',
      'react-native': platform,
    })) {
      await mkdir(join(app, 'node_modules', name), { recursive: true })
      await writeFile(join(app, 'node_modules', name, 'index.js'), code)
    }
    // Metro replaces Platform.OS with the platform of the build.
    const settings = ['--out', 'bundle', '--config', 'metro.config.js', '--platform', 'ios']
    run(app, 'npx', 'metro', 'build', 'index.js', ...settings)
    // React Native runs a script, which cannot contain import.meta.
    const asScript = `require('node:vm').runInThisContext(require('node:fs').readFileSync('bundle.js', 'utf8'))`
    expect(run(app, 'node', '-e', asScript)).toBe(`${EXPECTED_OUTPUT}\ntrue ann@example.com false`)
    await report(app, 'Metro', 'metro')
  },
  5 * MINUTES,
)

test(
  'Expo exports an app with the client to bytecode for Hermes',
  async () => {
    const app = await makeApp(
      'expo',
      'expo@58',
      'expo-secure-store@57',
      '@react-native-async-storage/async-storage@2',
      'react@19.3.0',
      'react-native@0.88',
    )
    const settings = {
      expo: { name: 'app', slug: 'app', version: '1.0.0', platforms: ['android'] },
    }
    await writeFile(join(app, 'app.json'), JSON.stringify(settings))
    await writeFile(join(app, 'package.json'), JSON.stringify({ private: true, main: 'index.js' }))
    const lines = [
      `import { registerRootComponent } from 'expo'`,
      `import { createElement } from 'react'`,
      `import { Text } from 'react-native'`,
      `import { api } from './api'`,
      `registerRootComponent(() => createElement(Text, null, typeof api.login))`,
    ]
    await writeFile(join(app, 'index.js'), lines.join('\n'))
    for (const name of ['api.ts', 'session-storage.ts'])
      await writeFile(join(app, name), await readExample(name))
    run(app, 'npx', 'expo', 'export', '--platform', 'android')
    const [bytecode = ''] = await Array.fromAsync(new Bun.Glob('dist/**/*.hbc').scan(app))
    expect(await Bun.file(join(app, bytecode)).text()).toContain('/api/auth/login/v1')
    await report(app, 'Expo', 'expo')
    await report(app, 'React Native', 'react-native')
  },
  8 * MINUTES,
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
    await report(jest, 'Jest, on Node', 'jest')
    await report(jest, 'Jest, in jsdom,', 'jest-environment-jsdom')

    const vitest = await makeApp('vitest', 'vitest@4')
    await writeFile(join(vitest, 'paywall.test.js'), await readExample('paywall.test.js'))
    run(vitest, 'npx', 'vitest', 'run', '--globals')
    await report(vitest, 'Vitest', 'vitest')
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
    run(app, 'npx', 'next', 'build')
    const html = await Bun.file(join(app, '.next', 'server', 'app', 'index.html')).text()
    expect(html).toContain('<p>function</p>')
    await report(app, 'Next', 'next')
  },
  5 * MINUTES,
)
