import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { PluginBuilder } from 'bun'
import { description, license, version } from '../package.json' with { type: 'json' }
import { ROOT } from './root.ts'

/**
 * Builds `dist/client`, a separate package: the client, payload encryption in a second file, and
 * the type declarations, without the server's types. `cjs` holds a CommonJS build, which Jest
 * needs. `npm pack` in `dist/client` creates an installable tarball.
 */
const FOLDER = join(ROOT, 'dist', 'client')
const COMMON_JS = join(FOLDER, 'cjs')
const DECLARATIONS = join(ROOT, 'dist', 'declarations')
const ENTRY = 'client/client'

/** The modules in the package, each built to a separate file. */
const MODULES = ['client', 'sealed-transport', 'api-error']

/** The pages of `docs` in the package, and their file names there. */
const PAGES = {
  'client.md': 'README.md',
  'payload-encryption.md': 'payload-encryption.md',
  'other-languages.md': 'other-languages.md',
}

const PACKAGE = {
  name: 'homeport-client',
  version,
  description: `The Homeport client for apps. ${description}`,
  license,
  type: 'module',
  sideEffects: false,
  main: './cjs/client.js',
  module: './client.js',
  'react-native': './client.js',
  types: './client.d.ts',
  exports: {
    '.': {
      require: { types: './cjs/client.d.ts', default: './cjs/client.js' },
      default: { types: './client.d.ts', default: './client.js' },
    },
    './package.json': './package.json',
  },
  files: ['*.js', '*.map', '*.d.ts', '*.md', 'cjs/*'],
  engines: { node: '>=20' },
}

await rm(FOLDER, { recursive: true, force: true })
await mkdir(DECLARATIONS, { recursive: true })
for (const { path, size, gzipSize } of await bundle('esm', FOLDER)) {
  console.log(`dist/client/${basename(path)}: ${size} kB, ${gzipSize} kB gzipped`)
}
await bundle('cjs', COMMON_JS)
await writeDeclarations()
for (const folder of [FOLDER, COMMON_JS]) await copyDeclarations(ENTRY, folder)
await rm(DECLARATIONS, { recursive: true })
await writeFile(join(FOLDER, 'package.json'), `${JSON.stringify(PACKAGE, null, 2)}\n`)
await writeFile(join(COMMON_JS, 'package.json'), '{ "type": "commonjs" }\n')
for (const [page, name] of Object.entries(PAGES)) {
  await writeFile(join(FOLDER, name), await readFile(join(ROOT, 'docs', page)))
}

/**
 * Lazily imported modules and shared modules become separate files. Bun's own splitting would add `import.meta`, which
 * React Native cannot parse.
 */
async function bundle(format: 'esm' | 'cjs', outdir: string) {
  const built = await Bun.build({
    entrypoints: MODULES.map((name) => join(ROOT, 'src', 'client', `${name}.ts`)),
    target: 'browser',
    format,
    minify: { whitespace: true, syntax: true, identifiers: true, keepNames: true },
    sourcemap: 'linked',
    outdir,
    plugins: [
      { name: 'separate-modules', setup: keepModulesSeparate },
      ...(format === 'cjs' ? [{ name: 'lazy-require', setup: useLazyRequire }] : []),
    ],
  })
  if (!built.success) throw new AggregateError(built.logs)
  const modules = built.outputs.filter(({ kind }) => kind === 'entry-point')
  return Promise.all(
    modules.map(async ({ path }) => {
      const bytes = await Bun.file(path).bytes()
      const sizes = [bytes, Bun.gzipSync(bytes)].map(({ length }) => (length / 1e3).toFixed(1))
      return { path, size: sizes[0], gzipSize: sizes[1] }
    }),
  )
}

function keepModulesSeparate(build: PluginBuilder) {
  const filter = new RegExp(`^\\./(${MODULES.join('|')})\\.ts$`)
  build.onResolve({ filter }, ({ path, importer }) => {
    return importer ? { path: path.replace(/ts$/, 'js'), external: true } : undefined
  })
}

/** Jest supports `import()` only with a Node flag. */
function useLazyRequire(build: PluginBuilder) {
  build.onLoad({ filter: /open-transport\.ts$/ }, async ({ path }) => {
    const text = await readFile(path, 'utf8')
    const contents = text.replace(
      /\bimport\(('[^']+')\)/,
      'Promise.resolve().then(() => require($1))',
    )
    if (contents === text) throw new Error(`${path} has no lazy import`)
    return { contents, loader: 'ts' }
  })
}

/** Generates the declarations with the TypeScript compiler. */
async function writeDeclarations() {
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
    cwd: ROOT,
    stdout: 'inherit',
    stderr: 'inherit',
  })
  if ((await compiler.exited) !== 0)
    throw new Error("the client's type declarations could not be generated")
}

/** Copies a declaration file and those that it imports into one folder. */
async function copyDeclarations(name: string, folder: string, seen = new Set<string>()) {
  if (seen.has(name)) return
  seen.add(name)
  const text = await readFile(join(DECLARATIONS, `${name}.d.ts`), 'utf8')
  const imports = [...text.matchAll(/from '(\.[^']+)\.ts'/g)].map(([, path = '']) => path)
  const flat = text.replace(/from '\.[^']*?([^/']+)\.ts'/g, "from './$1.js'")
  await writeFile(join(folder, `${basename(name)}.d.ts`), flat)
  for (const path of new Set(imports)) {
    const target = join(dirname(name), path)
    if (/^(server|usecases|features|platform)\/|^client\/routes$/.test(target)) {
      throw new Error(`${name} exposes server types: declare them in src/client`)
    }
    await copyDeclarations(target, folder, seen)
  }
}
