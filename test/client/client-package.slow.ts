import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createClient } from '../../src/client/client.ts'

const ROOT = join(import.meta.dir, '..', '..')
const PACKAGE = join(ROOT, 'dist', 'client')
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc')

const SETTINGS = {
  bundler: { module: 'ESNext', moduleResolution: 'bundler', lib: ['ES2022', 'DOM'] },
  nodenext: { module: 'NodeNext', moduleResolution: 'NodeNext', lib: ['ES2022', 'DOM'] },
}
const STRICT = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: false,
  target: 'ES2022',
  types: [],
  outDir: 'out',
}

/** Long enough to start the compiler on a busy machine. */
const COMPILER_TIMEOUT_MS = 60_000

let app = ''

beforeAll(async () => {
  const built = Bun.spawnSync([process.execPath, 'scripts/build-client.ts'], { cwd: ROOT })
  expect([built.exitCode, built.stderr.toString()]).toEqual([0, ''])
  app = await mkdtemp(join(tmpdir(), 'homeport-app-'))
  await installPackage(join(app, 'node_modules', 'homeport-client'))
  await writeFile(join(app, 'package.json'), JSON.stringify({ type: 'module' }))
  await cp(join(ROOT, 'test', 'fixtures', 'client', 'app.ts'), join(app, 'app.ts'))
}, COMPILER_TIMEOUT_MS)

afterAll(() => rm(app, { recursive: true, force: true }))

/** Copies the package's files as npm would install them. */
async function installPackage(folder: string) {
  const { files } = await Bun.file(join(PACKAGE, 'package.json')).json()
  await mkdir(folder, { recursive: true })
  for (const pattern of ['package.json', ...files]) {
    for await (const name of new Bun.Glob(pattern).scan(PACKAGE)) {
      await cp(join(PACKAGE, name), join(folder, name))
    }
  }
}

test.each(Object.entries(SETTINGS))(
  'an app with strict settings (%s) compiles, and every result has exactly its declared type',
  async (name, settings) => {
    const compilerOptions = { ...STRICT, ...settings }
    await writeFile(
      join(app, `${name}.json`),
      JSON.stringify({ compilerOptions, files: ['app.ts'] }),
    )
    const compiled = Bun.spawnSync([process.execPath, TSC, '-p', `${name}.json`], { cwd: app })
    expect(compiled.stdout.toString()).toBe('')
    expect(compiled.exitCode).toBe(0)
  },
  COMPILER_TIMEOUT_MS,
)

const RUNTIMES = [process.execPath, Bun.which('node')].filter((path) => path !== null)

test.each(RUNTIMES.map((path) => [basename(path), path] as const))(
  'the compiled app runs in %s without other packages',
  (_name, runtime) => {
    const { stdout, stderr } = Bun.spawnSync([runtime, join('out', 'app.js')], { cwd: app })
    expect([stdout.toString(), stderr.toString()]).toEqual(['0 network_error\n', ''])
  },
)

test(
  'an app that loads the client with require compiles as CommonJS and runs',
  async () => {
    const lines = [
      `import { createClient } from 'homeport-client'`,
      `const failure = (env: string) =>`,
      `  createClient({ baseUrl: 'http://127.0.0.1:9', env }).readFaqs().catch(({ code }) => code)`,
      `void Promise.all(['test', 'production'].map(failure)).then((codes) => console.log(...codes))`,
    ]
    await writeFile(join(app, 'app.cts'), lines.join('\n'))
    const compilerOptions = { ...STRICT, ...SETTINGS.nodenext }
    await writeFile(join(app, 'cjs.json'), JSON.stringify({ compilerOptions, files: ['app.cts'] }))
    const compiled = Bun.spawnSync([process.execPath, TSC, '-p', 'cjs.json'], { cwd: app })
    expect(compiled.stdout.toString()).toBe('')
    for (const runtime of RUNTIMES) {
      const { stdout } = Bun.spawnSync([runtime, join('out', 'app.cjs')], { cwd: app })
      expect(stdout.toString()).toBe('network_error network_error\n')
    }
  },
  COMPILER_TIMEOUT_MS,
)

test('every file has a source map with its sources', async () => {
  for await (const name of new Bun.Glob('{*,cjs/*}.js').scan(PACKAGE)) {
    const text = await Bun.file(join(PACKAGE, name)).text()
    expect(text).toContain(`//# sourceMappingURL=${basename(name)}.map`)
    const map = await Bun.file(join(app, 'node_modules', 'homeport-client', `${name}.map`)).json()
    expect([name, map.sourcesContent.length > 0]).toEqual([name, true])
    expect(map.sourcesContent.every((source: unknown) => typeof source === 'string')).toBe(true)
  }
})

test('an app without sealing loads less than 9.5 kB and no cryptography', async () => {
  const bundleApp = async (env: string) => {
    const entry = join(app, `${env}.js`)
    const options = JSON.stringify({ baseUrl: 'http://127.0.0.1:9', env })
    await writeFile(
      entry,
      `import { createClient } from 'homeport-client'\nconsole.log(createClient(${options}))`,
    )
    const buildOptions = { target: 'browser', splitting: true, minify: true } as const
    const built = await Bun.build({ entrypoints: [entry], ...buildOptions })
    return Promise.all(built.outputs.map((output) => output.text()))
  }
  const chunks = await bundleApp('test')
  const [entry = ''] = chunks
  const initialChunks = chunks.filter((chunk) => chunk === entry || !chunk.includes('ECDH-ES'))
  const size = initialChunks.reduce((sum, text) => sum + Bun.gzipSync(Buffer.from(text)).length, 0)
  expect(size).toBeLessThan(9_500)
  expect(entry).not.toContain('ECDH-ES')
  expect(chunks.join()).toContain('ECDH-ES')
})

test('exports only the client, and documents every function', async () => {
  const names = await Array.fromAsync(new Bun.Glob('*').scan(PACKAGE))
  const declarations = names.filter((name) => name.endsWith('.d.ts')).toSorted()
  expect(declarations).toEqual([
    'api-error.d.ts',
    'app-data.d.ts',
    'attachments.d.ts',
    'billing.d.ts',
    'client.d.ts',
    'context-headers.d.ts',
    'deadline.d.ts',
    'errors.d.ts',
    'shared-types.d.ts',
    'storage.d.ts',
    'tabs.d.ts',
    'transmit.d.ts',
    'updates.d.ts',
    'usage.d.ts',
    'user-data.d.ts',
    'users.d.ts',
  ])
  const functions: string[] = []
  for (const name of declarations) {
    const text = await Bun.file(join(PACKAGE, name)).text()
    for (const [, body = ''] of text.matchAll(
      /^(?:export )?type \w+Functions = \{\n(.*?)\n\};/gms,
    )) {
      // Methods are bivariant in their parameters; properties are not.
      expect(body).not.toMatch(/^ {4}\w+\(/m)
      for (const [, before = '', member = ''] of body.matchAll(/(.*)\n {4}(\w+): \(/g)) {
        expect([member, before.trim()]).toEqual([member, expect.stringMatching(/\*\/$/)])
        functions.push(member)
      }
    }
  }
  expect(functions).toHaveLength(
    Object.keys(createClient({ baseUrl: 'http://127.0.0.1:9' })).length,
  )
  for (const name of names.filter((one) => one.endsWith('.js'))) {
    // Hermes cannot parse import.meta.
    expect(await Bun.file(join(PACKAGE, name)).text()).not.toContain('import.meta')
  }
  const { exports, dependencies, scripts, sideEffects } = await Bun.file(
    join(PACKAGE, 'package.json'),
  ).json()
  expect(exports['./package.json']).toBe('./package.json')
  expect([dependencies, scripts, sideEffects]).toEqual([undefined, undefined, false])
})
