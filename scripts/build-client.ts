import { readFileSync } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { PluginBuilder } from 'bun'
import manifest from '../package.json' with { type: 'json' }
import { packPackage, writeArchive, writeNativeClients } from './client-archive.ts'
import { readDeclarations } from './client-declarations.ts'
import { readPages } from './client-pages.ts'
import { ROOT } from './root.ts'

/**
 * Builds `homeport-client`, a separate package: the client, payload encryption in a second file, and
 * the type declarations, without the server's types. `cjs` holds a CommonJS build, which Jest
 * needs. `dist/client.tgz` is the package for npm, which the server serves and the executable contains.
 */
const FOLDER = join(ROOT, 'dist', 'client')
const SOURCE = join(ROOT, 'src', 'client')

type Entry = {
  /** The module in `src/client` without `.ts`. Its last word is the name of the built file. */
  module: string
  /** Packages of the app that the entry imports, with their versions. Apps without the entry do not need them. */
  peers?: Record<string, string>
}

/** The import paths of the package. */
const ENTRIES: Record<string, Entry> = {
  '.': { module: 'client' },
  './passkeys': { module: 'browser-passkeys' },
  './react': { module: 'react/react', peers: { react: '>=18' } },
  './testing': { module: 'testing/testing' },
}

const ENTRY_MODULES = Object.values(ENTRIES).map(({ module }) => module)
/** The modules in the package, each built to a separate file. */
const MODULES = [...ENTRY_MODULES, ...findLazyModules(), 'api-error']
const PEERS: Record<string, string> = Object.assign(
  {},
  ...Object.values(ENTRIES).map(({ peers }) => peers),
)

/** The files of a package by path. */
export type PackageFiles = Map<string, Uint8Array<ArrayBuffer>>

/** Builds the package in memory: the same files for the same sources, apart from its name. */
export async function buildClient(name = 'homeport-client'): Promise<PackageFiles> {
  const files: PackageFiles = new Map()
  const add = (path: string, text: string) => files.set(path, new TextEncoder().encode(text))
  const declarations = await readDeclarations(ENTRY_MODULES)
  for (const [format, folder] of [
    ['esm', ''],
    ['cjs', 'cjs/'],
  ] as const) {
    for (const output of await bundle(format))
      files.set(folder + basename(output.path), new Uint8Array(await output.arrayBuffer()))
    for (const [name, text] of declarations) add(folder + name, text)
  }
  add('package.json', `${JSON.stringify(packageJson(name), null, 2)}\n`)
  add('cjs/package.json', '{ "type": "commonjs" }\n')
  for (const [name, text] of await readPages()) add(name, text)
  return files
}

function packageJson(name: string) {
  const { description, license, version } = manifest
  const { repository, homepage, bugs } = manifest as Record<string, unknown>
  const exports = Object.entries(ENTRIES).map(([path, { module }]) => {
    const file = basename(module)
    const require = { types: `./cjs/${file}.d.ts`, default: `./cjs/${file}.js` }
    return [path, { require, default: { types: `./${file}.d.ts`, default: `./${file}.js` } }]
  })
  const optional = Object.keys(PEERS).map((peer) => [peer, { optional: true }])
  return {
    name,
    version,
    description: `The Homeport client for apps. ${description}`,
    license,
    // Omitted while unset.
    ...{ repository, homepage, bugs },
    type: 'module',
    sideEffects: false,
    main: './cjs/client.js',
    module: './client.js',
    'react-native': './client.js',
    types: './client.d.ts',
    exports: { ...Object.fromEntries(exports), './package.json': './package.json' },
    files: ['*.js', '*.map', '*.d.ts', '*.md', 'cjs/*'],
    engines: { node: '>=20' },
    ...(optional.length === 0
      ? {}
      : { peerDependencies: PEERS, peerDependenciesMeta: Object.fromEntries(optional) }),
  }
}

/**
 * Lazily imported modules and shared modules become separate files. Bun's own splitting would add `import.meta`, which
 * React Native cannot parse.
 */
async function bundle(format: 'esm' | 'cjs') {
  // In separate builds: in one build, each module would contain what any of the others uses.
  const built = await Promise.all(MODULES.map((name) => bundleModule(name, format)))
  return built.flat()
}

async function bundleModule(name: string, format: 'esm' | 'cjs') {
  const built = await Bun.build({
    entrypoints: [join(SOURCE, `${name}.ts`)],
    target: 'browser',
    format,
    naming: '[name].[ext]',
    external: Object.keys(PEERS),
    minify: { whitespace: true, syntax: true, identifiers: true, keepNames: true },
    sourcemap: 'linked',
    plugins: [
      { name: 'separate-modules', setup: keepModulesSeparate },
      ...(format === 'cjs' ? [{ name: 'lazy-require', setup: useLazyRequire }] : []),
    ],
  })
  if (!built.success) throw new AggregateError(built.logs)
  return built.outputs
}

/** Parts of the client that are loaded when they are first needed. */
function findLazyModules(): string[] {
  const sources = [...new Bun.Glob('*.ts').scanSync(SOURCE)].toSorted()
  return sources.flatMap((name) => {
    const text = readFileSync(join(SOURCE, name), 'utf8')
    return [...text.matchAll(/\bimport\('\.\/([\w-]+)\.ts'\)/g)].map(([, module = '']) => module)
  })
}

function keepModulesSeparate(build: PluginBuilder) {
  const files = new Set(MODULES.map((name) => join(SOURCE, `${name}.ts`)))
  build.onResolve({ filter: /^\..*\.ts$/ }, ({ path, importer }) => {
    return importer && files.has(resolve(dirname(importer), path))
      ? { path: `./${basename(path, '.ts')}.js`, external: true }
      : undefined
  })
}

/** Jest supports `import()` only with a Node flag. */
function useLazyRequire(build: PluginBuilder) {
  build.onLoad({ filter: /src\/client\/[\w-]+\.ts$/ }, async ({ path }) => {
    const text = await readFile(path, 'utf8')
    const contents = text.replace(
      /\bimport\(('[^']+')\)/g,
      'Promise.resolve().then(() => require($1))',
    )
    return { contents, loader: 'ts' }
  })
}

if (import.meta.main) {
  const files = await buildClient()
  await rm(FOLDER, { recursive: true, force: true })
  await mkdir(FOLDER, { recursive: true })
  for (const [path, bytes] of files) await Bun.write(join(FOLDER, path), bytes)
  await writeArchive(`${FOLDER}.tgz`, await packPackage(files))
  await writeNativeClients(join(ROOT, 'dist', 'native'))
  if (process.argv.includes('--sizes')) printSizes(files)
}

function printSizes(files: PackageFiles) {
  for (const [path, bytes] of files) {
    if (!/^[\w-]+\.js$/.test(path)) continue
    const [size, gzipSize] = [bytes, Bun.gzipSync(bytes)].map(({ length }) =>
      (length / 1e3).toFixed(1),
    )
    console.log(`dist/client/${path}: ${size} kB, ${gzipSize} kB gzipped`)
  }
}
