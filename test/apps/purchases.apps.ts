import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeEmptyApp, PAGES, readExample, report, run } from '../support/app-projects.ts'
import { installClient } from '../support/client-package.ts'
import { MOBILE } from './versions.ts'

/** Compiles the code of the pages about purchases in React Native. Needs npm and its registry. */
const TSC = join(import.meta.dir, '..', '..', 'node_modules', '.bin', 'tsc')
const APP_STORE_PAGE = 'app-store-react-native.md'
const PLAY_PAGE = 'google-play-react-native.md'
const NPM_INSTALL = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts']
const MINUTES = 60_000

const COMPILER_OPTIONS = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  target: 'ESNext',
  module: 'Preserve',
  moduleResolution: 'bundler',
  jsx: 'react-jsx',
  lib: ['ESNext', 'DOM'],
  types: ['react-native', 'expo/types'],
  skipLibCheck: true,
  resolveJsonModule: true,
}

const EXPO = { name: 'app', slug: 'app', version: '1.0.0' }
const INDEX = `import { registerRootComponent } from 'expo'
import App from './App'
registerRootComponent(App)
`

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-purchases-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test(
  'the pages for React Native compile with both libraries, for iOS, Android and the web',
  async () => {
    const app = await makeEmptyApp(folder, 'react-native')
    const { expoIap, reactNativeIap, ...packages } = MOBILE
    const libraries = [expoIap, reactNativeIap, ...Object.values(packages)]
    run(app, ...NPM_INSTALL, '--legacy-peer-deps', ...libraries)
    await installClient(app)
    const iosApp = await readExample('App.tsx', APP_STORE_PAGE)
    for (const library of ['expo-iap', 'react-native-iap']) {
      const files = {
        'app.json': JSON.stringify({ expo: { ...EXPO, platforms: ['android', 'web'] } }),
        'package.json': '{ "private": true, "main": "index.js" }',
        'index.js': INDEX,
        'api.ts': await readExample('api.ts'),
        'session-storage.ts': await readExample('session-storage.ts'),
        'purchases.ios.ts': await readExample('purchases.ts', APP_STORE_PAGE),
        'purchases.android.ts': await readExample('purchases.android.ts', PLAY_PAGE),
        'purchases.ts': await readExample('purchases.ts', PLAY_PAGE),
        'IosApp.tsx': iosApp,
        'App.tsx': await changeForAllPlatforms(iosApp),
      }
      await mkdir(join(app, library))
      for (const [name, code] of Object.entries(files))
        await writeFile(join(app, library, name), code.replaceAll(`'expo-iap'`, `'${library}'`))
      compile(app, [`${library}/IosApp.tsx`, `${library}/App.tsx`], ['.ios', '.native', ''])
      compile(app, [`${library}/App.tsx`], ['.android', '.native', ''])
      compile(app, [`${library}/App.tsx`], ['.web', ''])
      await report(app, library, library)
    }
    await expectNoNativeModuleOnTheWeb(join(app, 'expo-iap'))
    for (const name of ['expo', 'react-native']) await report(app, name, name)
  },
  10 * MINUTES,
)

/** Bundles an app: only the Android bundle must contain the native module. */
async function expectNoNativeModuleOnTheWeb(app: string) {
  await symlink('../node_modules', join(app, 'node_modules'))
  run(app, 'npx', 'expo', 'export', '--platform', 'android', '--platform', 'web')
  const withModule: string[] = []
  for await (const path of new Bun.Glob('dist/**/*.{js,hbc}').scan(app))
    if ((await Bun.file(join(app, path)).text()).includes('ExpoIap')) withModule.push(path)
  expect(withModule).toEqual([expect.stringMatching(/android.*\.hbc$/)])
}

/** Compiles an app as Metro resolves its files for one platform. */
function compile(app: string, files: string[], moduleSuffixes: string[]) {
  const settings = { compilerOptions: { ...COMPILER_OPTIONS, moduleSuffixes }, files }
  const path = join(app, 'tsconfig.json')
  writeFileSync(path, JSON.stringify(settings))
  run(app, process.execPath, '--bun', TSC, '-p', '.')
}

/** Makes the changes to App.tsx that the page about Google Play describes. */
async function changeForAllPlatforms(app: string): Promise<string> {
  const changes = await readChanges()
  const [notices = '', buttons = ''] = changes.split(/\n\/\/ The buttons, .*\n/)
  const isConstant = (line: string) => line.startsWith('const ')
  const constants = buttons.split('\n').filter(isConstant).join('\n')
  const elements = buttons
    .split('\n')
    .filter((line) => !isConstant(line))
    .join('\n')
  const changed = app
    .replace('{ Alert, AppState,', '{ Alert, AppState, Platform,')
    .replace(/\n.*Alert\.alert\(CONTACT\)/, (line) => `\n${notices}${line}`)
    .replace('  return (\n    <View>', () => `${constants}\n  return (\n    <View>`)
    .replace(/\n.*title="Manage subscription".*/, () => `\n${elements}`)
    .replace(/\n.*title="Buy" onPress=\{\(\) => run\(\(\) => buy\('pro_month'.*/, '')
  for (const part of [notices, constants, elements])
    if (part === '' || !changed.includes(part)) throw new Error(`App.tsx has no place for: ${part}`)
  return changed
}

async function readChanges(): Promise<string> {
  const page = await Bun.file(join(PAGES, PLAY_PAGE)).text()
  const [, code] = page.match(/```tsx\n\/\/ In onResult, .*\n([\s\S]*?)\n```/) ?? []
  if (code === undefined) throw new Error(`${PLAY_PAGE} has no changes to App.tsx`)
  return code
}
