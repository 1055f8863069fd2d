import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { installClient } from '../support/client-package.ts'

/** The entries `homeport-client/testing` and `homeport-client/react`, as apps install them. */
const ROOT = join(import.meta.dir, '..', '..')
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc')
const RUNTIMES = [process.execPath, Bun.which('node')].filter((path) => path !== null)
const COMPILER_TIMEOUT_MS = 60_000

/** Apps that use every type of an entry. */
const APPS = ['testing-app.ts', 'react-app.ts']
/** In bytes, minified. */
const LIMITS = { 'testing.js': 46_000, 'react.js': 5_000 }

let app = ''
let folder = ''

beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), 'homeport-entries-'))
  folder = await installClient(app)
  await writeFile(join(app, 'package.json'), JSON.stringify({ type: 'module' }))
  for (const name of APPS) await cp(join(ROOT, 'test', 'fixtures', 'client', name), join(app, name))
})
afterAll(() => rm(app, { recursive: true, force: true }))

test.each(['bundler', 'nodenext'])(
  'apps with strict settings (%s) and their own React types compile',
  async (moduleResolution) => {
    for (const name of ['@types/react', 'csstype']) {
      const path = join('node_modules', name)
      await cp(join(ROOT, path), join(app, path), { recursive: true })
    }
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
      module: moduleResolution === 'bundler' ? 'ESNext' : 'NodeNext',
      moduleResolution,
    }
    await writeFile(
      join(app, `${moduleResolution}.json`),
      JSON.stringify({ compilerOptions, files: APPS }),
    )
    const compiled = Bun.spawnSync([process.execPath, TSC, '-p', `${moduleResolution}.json`], {
      cwd: app,
    })
    expect(compiled.stdout.toString()).toBe('')
  },
  COMPILER_TIMEOUT_MS,
)

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

test('both are small, independent files that the client does not load', async () => {
  for (const [name, limit] of Object.entries(LIMITS)) {
    for (const path of [name, `cjs/${name}`]) {
      const text = await Bun.file(join(folder, path)).text()
      expect([path, text.length < limit]).toEqual([path, true])
      const imports = [...text.matchAll(/(?:from|require\()\s*"([^"]+)"/g)].map(([, from]) => from)
      expect([path, imports.filter((from) => from !== 'react')]).toEqual([path, []])
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
