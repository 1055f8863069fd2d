import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { installClient } from '../support/client-package.ts'
import { compileStrictApp } from '../support/strict-app.ts'

const ROOT = join(import.meta.dir, '..', '..')
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
let folder = ''

beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), 'homeport-app-'))
  folder = await installClient(app)
  await writeFile(join(app, 'package.json'), JSON.stringify({ type: 'module' }))
  await cp(join(ROOT, 'test', 'fixtures', 'client', 'app.ts'), join(app, 'app.ts'))
}, COMPILER_TIMEOUT_MS)

afterAll(() => rm(app, { recursive: true, force: true }))

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

test(
  'an app may pass undefined for every optional input, and the browser’s passkeys',
  async () => {
    expect(await compileStrictApp(app, TSC)).toBe('')
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
  for await (const name of new Bun.Glob('{*,cjs/*}.js').scan(folder)) {
    const text = await Bun.file(join(folder, name)).text()
    expect(text).toContain(`//# sourceMappingURL=${basename(name)}.map`)
    const { sources, sourcesContent } = await Bun.file(join(folder, `${name}.map`)).json()
    expect(sources.length).toBeGreaterThan(0)
    for (const source of sources) expect(source).toMatch(/^(src|node_modules)\//)
    expect(sourcesContent.map((content: unknown) => typeof content)).toEqual(
      sources.map(() => 'string'),
    )
  }
})

test.each([
  ['import', `import { createClient } from 'homeport-client'`, 'mjs'],
  ['require', `const { createClient } = require('homeport-client')`, 'cjs'],
])('an error in an app that uses %s names the line of the source', async (_name, load, ending) => {
  const node = Bun.which('node')
  if (node === null) return
  const file = `fails.${ending}`
  await writeFile(join(app, file), `${load}\ncreateClient({ baseUrl: 'no address' })`)
  const { stderr } = Bun.spawnSync([node, '--enable-source-maps', file], { cwd: app })
  const source = await Bun.file(join(ROOT, 'src/client/open-transport.ts')).text()
  const line = source.slice(0, source.indexOf('baseUrl must be')).split('\n').length - 1
  expect(stderr.toString()).toContain(`src/client/open-transport.ts:${line}:`)
})

test('an app without sealing loads less than 7.9 kB at first, and no cryptography', async () => {
  const bundleApp = async (env: string) => {
    const entry = join(app, `${env}.js`)
    const options = JSON.stringify({ baseUrl: 'http://127.0.0.1:9', env })
    await writeFile(
      entry,
      `import { createClient } from 'homeport-client'\nconsole.log(createClient(${options}))`,
    )
    const buildOptions = { target: 'browser', splitting: true, minify: true } as const
    const built = await Bun.build({ entrypoints: [entry], ...buildOptions })
    const texts = built.outputs.map(
      async (output) => [basename(output.path), await output.text()] as const,
    )
    return { entry: `${env}.js`, chunks: new Map(await Promise.all(texts)) }
  }
  const { entry, chunks } = await bundleApp('test')
  const initial = new Set([entry])
  for (const name of initial) {
    const imports = (chunks.get(name) ?? '').matchAll(/(?:from|import)"\.\/([^"]+)"/g)
    for (const [, path = ''] of imports) initial.add(path)
  }
  const loaded = [...initial].map((name) => chunks.get(name) ?? '')
  const size = loaded.reduce((sum, text) => sum + Bun.gzipSync(Buffer.from(text)).length, 0)
  expect([initial.size > 1, size < 7_900]).toEqual([true, true])
  expect(loaded.join()).not.toContain('ECDH-ES')
  expect([...chunks.values()].join()).toContain('ECDH-ES')
})

test('exports only the client, without packages, scripts or import.meta', async () => {
  const names = await Array.fromAsync(new Bun.Glob('*').scan(folder))
  const declarations = [...(await declarationsOf('client.d.ts'))].toSorted()
  // The server's types are inlined.
  const isClientFile = (name: string) =>
    existsSync(join(ROOT, 'src/client', name.replace('.d.ts', '.ts'))) || name === 'errors.d.ts'
  expect(declarations.filter((name) => !isClientFile(name))).toEqual([])
  for (const name of declarations) {
    const text = await Bun.file(join(folder, name)).text()
    for (const [, body = ''] of text.matchAll(
      /^(?:export )?type \w+Functions = \{\n(.*?)\n\};/gms,
    )) {
      // Methods are bivariant in their parameters; properties are not.
      expect(body).not.toMatch(/^ {4}\w+\(/m)
    }
  }
  for (const name of names.filter((one) => one.endsWith('.js'))) {
    // Hermes cannot parse import.meta.
    expect(await Bun.file(join(folder, name)).text()).not.toContain('import.meta')
  }
  const { exports, dependencies, scripts, sideEffects } = await Bun.file(
    join(folder, 'package.json'),
  ).json()
  expect(exports['./package.json']).toBe('./package.json')
  expect([dependencies, scripts, sideEffects]).toEqual([undefined, undefined, false])
})

/** A declaration file and those that it imports. */
async function declarationsOf(name: string, found = new Set<string>()): Promise<Set<string>> {
  if (found.has(name)) return found
  found.add(name)
  const text = await Bun.file(join(folder, name)).text()
  for (const [, path] of text.matchAll(/(?:from |import\()['"]\.\/([^'"]+)\.js['"]/g))
    await declarationsOf(`${path}.d.ts`, found)
  return found
}

test('every link between the pages of the package leads to a page of the package', async () => {
  const pages = [...new Bun.Glob('*.md').scanSync(folder)]
  const links = await Promise.all(
    pages.map(async (page) => {
      const text = await Bun.file(join(folder, page)).text()
      return [...text.matchAll(/\]\(([^):#]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target)
    }),
  )
  expect(pages).toContain('sign-in.md')
  expect(links.flat().filter((target) => !pages.includes(target))).toEqual([])
})
