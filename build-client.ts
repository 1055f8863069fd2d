import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { PluginBuilder } from 'bun'
import { description, license, version } from './package.json' with { type: 'json' }

/**
 * Makes `dist/client`, a package of its own: the client, in a second file what seals payloads, and the
 * types, without those of the server. `npm pack` in it gives a tarball that installs.
 */
const FOLDER = join(import.meta.dir, 'dist', 'client')
const DECLARATIONS = join(import.meta.dir, 'dist', 'declarations')
const ENTRY = 'client/client'

/** The files of the package. */
const MODULES = ['client', 'sealed-transport', 'api-error']

/** The pages that go with it, and their names there. */
const PAGES = {
  'client.md': 'README.md',
  'payload-encryption.md': 'payload-encryption.md',
  'other-languages.md': 'other-languages.md',
}

const PACKAGE = {
  name: 'homeport-client',
  version,
  description: `The client of Homeport for apps. ${description}`,
  license,
  type: 'module',
  sideEffects: false,
  main: './client.js',
  module: './client.js',
  'react-native': './client.js',
  types: './client.d.ts',
  exports: { '.': { types: './client.d.ts', default: './client.js' } },
  files: ['*.js', '*.d.ts', '*.md'],
  engines: { node: '>=20' },
}

await rm(FOLDER, { recursive: true, force: true })
await mkdir(DECLARATIONS, { recursive: true })
await bundle()
await declare()
await collect(ENTRY)
await rm(DECLARATIONS, { recursive: true })
await writeFile(join(FOLDER, 'package.json'), `${JSON.stringify(PACKAGE, null, 2)}\n`)
for (const [page, name] of Object.entries(PAGES)) {
  await writeFile(join(FOLDER, name), await readFile(join(import.meta.dir, 'docs', page)))
}

/**
 * What is imported only when it is asked for becomes a file of its own, and so does what both share. Bun's own
 * splitting would put `import.meta` in, which React Native cannot parse.
 */
async function bundle() {
  const built = await Bun.build({
    entrypoints: MODULES.map((name) => join(import.meta.dir, 'src', 'client', `${name}.ts`)),
    target: 'browser',
    format: 'esm',
    minify: { whitespace: true, syntax: true, identifiers: true, keepNames: true },
    outdir: FOLDER,
    plugins: [{ name: 'apart', setup: keepApart }],
  })
  if (!built.success) throw new AggregateError(built.logs)
  for (const { path } of built.outputs) {
    const bytes = await Bun.file(path).bytes()
    const [size, packed] = [bytes, Bun.gzipSync(bytes)].map(({ length }) =>
      (length / 1e3).toFixed(1),
    )
    console.log(`dist/client/${basename(path)}: ${size} kB, ${packed} kB gzipped`)
  }
}

function keepApart(build: PluginBuilder) {
  const filter = new RegExp(`^\\./(${MODULES.join('|')})\\.ts$`)
  build.onResolve({ filter }, ({ path, importer }) => {
    return importer ? { path: path.replace(/ts$/, 'js'), external: true } : undefined
  })
}

/** The compiler writes the types out. */
async function declare() {
  const config = {
    extends: '../../tsconfig.json',
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: '../../src',
      outDir: '.',
    },
    include: ['../../src/**/*.d.ts'],
    files: [`../../src/${ENTRY}.ts`],
  }
  const path = join(DECLARATIONS, 'tsconfig.json')
  await writeFile(path, JSON.stringify(config))
  const compiler = Bun.spawn([process.execPath, 'node_modules/.bin/tsc', '-p', path], {
    cwd: import.meta.dir,
    stdout: 'inherit',
    stderr: 'inherit',
  })
  if ((await compiler.exited) !== 0) throw new Error('the types of the client cannot be written')
}

/** Copies a declaration and those that it names, side by side. */
async function collect(name: string, seen = new Set<string>()) {
  if (seen.has(name)) return
  seen.add(name)
  const text = await readFile(join(DECLARATIONS, `${name}.d.ts`), 'utf8')
  const imports = [...text.matchAll(/from '(\.[^']+)\.ts'/g)].map(([, path = '']) => path)
  const flat = text.replace(/from '\.[^']*?([^/']+)\.ts'/g, "from './$1.js'")
  await writeFile(join(FOLDER, `${basename(name)}.d.ts`), flat)
  for (const path of new Set(imports)) {
    const target = join(dirname(name), path)
    if (/^(app|client\/routes)$/.test(target)) {
      throw new Error(`${name} shows types of the server: say them in client/types.ts`)
    }
    await collect(target, seen)
  }
}
