import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import type { BunPlugin } from 'bun'
import { buildClient } from './build-client.ts'
import { writeConsole } from './build-console.ts'
import { readBuildInfo } from './build-info.ts'
import { packPackage, writeArchive, writeNativeClients } from './client-archive.ts'
import { ROOT } from './root.ts'

export type Build = {
  outfile: string
  /** In sharp's notation: `linux-x64`, `linuxmusl-arm64`. */
  platform: string
  /** In Bun's notation; this machine by default. */
  target?: Bun.Build.CompileTarget
  /** Returns the folder of a package. */
  folderOf: (name: string) => string
}

/** The targets of a release: `platform` in sharp's notation, `target` in Bun's. */
export const TARGETS = {
  'linux-x64': { platform: 'linux-x64', target: 'bun-linux-x64-baseline' },
  'linux-arm64': { platform: 'linux-arm64', target: 'bun-linux-arm64' },
  'linux-x64-musl': { platform: 'linuxmusl-x64', target: 'bun-linux-x64-musl' },
  'linux-arm64-musl': { platform: 'linuxmusl-arm64', target: 'bun-linux-arm64-musl' },
  'macos-arm64': { platform: 'darwin-arm64', target: 'bun-darwin-arm64' },
} as const

/** Renamed identifiers break @elysiajs/bearer at run time. */
export const MINIFY = { syntax: true, whitespace: true, identifiers: false }

const DIST = join(ROOT, 'dist')

/** A thread has its own entry point. */
const READER_THREAD = 'src/platform/db/sqlite/background/reader-thread.ts'

/** Builds one executable with the server, sharp, the migrations and the initial content. Throws build errors. */
export async function buildExecutable({ outfile, platform, target, folderOf }: Build) {
  await writeConsole(join(DIST, 'console'))
  await writeArchive(join(DIST, 'client.tgz'), await packPackage(await buildClient()))
  await writeNativeClients(join(DIST, 'native'))
  const result = await buildInDist({
    entrypoints: ['src/main.ts', READER_THREAD].map((path) => join(ROOT, path)),
    plugins: [embedNative(platform, folderOf), hidePaths(), leaveOutUnused(), compressDocs()],
    minify: MINIFY,
    sourcemap: 'linked',
    bytecode: true,
    format: 'esm',
    define: { HOMEPORT_BUILD: JSON.stringify(await readBuildInfo()) },
    splitting: true,
    compile: {
      outfile: resolve(outfile),
      ...(target ? { target } : {}),
      assets: ['drizzle', 'data/seed', 'dist/console', 'dist/client.tgz', 'dist/native'].map(
        (path) => join(ROOT, path),
      ),
      autoloadBunfig: false,
      // It would also load .env.local and .env.production, for every command: see `readDotEnv`.
      autoloadDotenv: false,
    },
  })
  if (!result.success) throw new Error(result.logs.join('\n'))
  // The executable contains the source maps.
  const maps = result.outputs.filter(({ kind }) => kind === 'sourcemap')
  await Promise.all(maps.map(({ path }) => rm(path)))
}

/**
 * Bun writes a temporary file of the executable's size into the working directory. Removes the files left by builds that
 * were killed.
 */
async function buildInDist(options: Bun.BuildConfig) {
  for (const folder of [ROOT, DIST]) {
    const leftovers = readdirSync(folder).filter((name) => name.endsWith('.bun-build'))
    await Promise.all(leftovers.map((name) => rm(join(folder, name))))
  }
  const directory = process.cwd()
  process.chdir(DIST)
  try {
    return await Bun.build(options)
  } finally {
    process.chdir(directory)
  }
}

/**
 * Hides the path of the build folder, which Bun embeds in modules that use `__dirname`. Those
 * modules need it only to start threads, which we never do, and to find a file, which we pass in.
 */
export function hidePaths(): BunPlugin {
  return {
    name: 'hide-paths',
    setup(build) {
      build.onLoad(
        { filter: /node_modules\/(pino|thread-stream|libheif-js)\/.*\.js$/ },
        ({ path }) => ({
          contents: readFileSync(path, 'utf8').replaceAll(/__(dirname|filename)/g, "'/'"),
          loader: 'js',
        }),
      )
    },
  }
}

/** acme-client's former interface, which we do not use, needs a library of 1.5 MB. */
function leaveOutUnused(): BunPlugin {
  return {
    name: 'leave-out-unused',
    setup(build) {
      build.onLoad({ filter: /node_modules\/acme-client\/src\/crypto\/forge\.js$/ }, () => ({
        contents: '',
        loader: 'js',
      }))
    },
  }
}

/** Compresses the files of Swagger UI, which `src/platform/http/docs/docs.ts` unpacks. */
function compressDocs(): BunPlugin {
  return {
    name: 'compress-docs',
    setup(build) {
      build.onLoad({ filter: /node_modules\/swagger-ui-dist\/.*\.(js|css)$/ }, ({ path }) => ({
        contents: compress(readFileSync(path)),
        loader: 'file',
      }))
    },
  }
}

type NativeFile = { source: string; path: string; hash: string }

/**
 * Embeds native code as files: sharp's addon with libvips, and the addon for argon2. A loader
 * replaces each addon. It unpacks the files into one folder, because sharp's addon finds libvips
 * relative to itself, and then opens the addon.
 */
export function embedNative(platform: string, folderOf: Build['folderOf']): BunPlugin {
  const parts: Record<string, NativeFile[]> = {
    sharp: [
      nativeFile(`@img/sharp-${platform}`, 'lib', /\.node$/),
      nativeFile(`@img/sharp-libvips-${platform}`, 'lib', /\.so|\.dylib/),
    ],
    argon2: [nativeFile(`@node-rs/argon2-${napiName(platform)}`, '', /\.node$/)],
  }
  // The executable contains the loaders' source, which must not reveal the build folder.
  const files = new Map([['#load-native', join(ROOT, 'src/lib/files/native.ts')]])
  for (const { source, hash } of Object.values(parts).flat()) files.set(`#${hash}`, source)
  const sources = new Set(files.values())
  return {
    name: 'embed-native',
    setup(build) {
      build.onResolve({ filter: /^sharp$/ }, () => ({
        path: createRequire(import.meta.url).resolve('sharp'),
      }))
      // sharp also requires the addons for other platforms. This machine's is installed, and would be bundled.
      build.onResolve({ filter: /^@img\/sharp-[^/]+\/sharp\.node$/ }, ({ path }) =>
        path === `@img/sharp-${platform}/sharp.node`
          ? { path: 'addon', namespace: 'native' }
          : { path, external: true },
      )
      build.onResolve({ filter: /^@node-rs\/argon2$/ }, () => ({
        path: 'argon2',
        namespace: 'native',
      }))
      build.onResolve({ filter: /^native-sharp$/ }, () => ({ path: 'sharp', namespace: 'native' }))
      build.onResolve({ filter: /^#(load-native|[0-9a-f]{64})$/ }, ({ path }) => ({
        path: files.get(path) as string,
      }))
      build.onLoad({ filter: /^addon$/, namespace: 'native' }, () => ({
        contents: `module.exports = require('native-sharp').addon`,
        loader: 'js',
      }))
      build.onLoad({ filter: /^sharp$/, namespace: 'native' }, () => ({
        contents: renderLoader('sharp'),
        loader: 'ts',
      }))
      build.onLoad({ filter: /^argon2$/, namespace: 'native' }, () => ({
        contents: `${renderLoader('argon2')}export const { hash, verify } = addon\n`,
        loader: 'ts',
      }))
      build.onLoad({ filter: /\.(node|so|dylib)[\d.]*$/ }, ({ path }) =>
        sources.has(path) ? { contents: compress(readFileSync(path)), loader: 'file' } : undefined,
      )
    },
  }

  function nativeFile(name: string, folder: string, pattern: RegExp): NativeFile {
    const file = readdirSync(join(folderOf(name), folder)).find((entry) => pattern.test(entry))
    if (!file) throw new Error(`${name} has no native library`)
    const source = join(folderOf(name), folder, file)
    const hash = createHash('sha256').update(readFileSync(source)).digest('hex')
    return { source, hash, path: join(name, folder, file) }
  }

  function renderLoader(name: string): string {
    const imports = parts[name]?.map(
      ({ hash }, at) => `import part${at} from '#${hash}' with { type: 'file' }`,
    )
    const list = parts[name]?.map(
      ({ path, hash }, at) =>
        `{ embedded: part${at}, path: ${JSON.stringify(path)}, hash: ${JSON.stringify(hash)} }`,
    )
    return `${imports?.join('\n')}
import { loadNative } from '#load-native'
export const addon: any = loadNative([${list?.join(', ')}])
`
  }
}

/** A higher level takes many times as long, for 8 % smaller files. Unpacking takes 30 ms, once. */
function compress(bytes: Uint8Array): Uint8Array {
  return Bun.zstdCompressSync(bytes, { level: 12 })
}

/** A platform in the notation of napi-rs packages: `linux-x64-gnu` for `linux-x64`. */
export function napiName(platform: string): string {
  if (platform.startsWith('linuxmusl-')) return `${platform.replace('linuxmusl', 'linux')}-musl`
  return platform.startsWith('linux-') ? `${platform}-gnu` : platform
}

if (import.meta.main) {
  // The Dockerfile passes the platform for which it has installed packages.
  const label = process.argv[2] as keyof typeof TARGETS | undefined
  const packages = createRequire(import.meta.url)
  const outfile = process.env['OUTFILE'] ?? './dist/homeport'
  await buildExecutable({
    outfile,
    ...(label ? TARGETS[label] : { platform: `${process.platform}-${process.arch}` }),
    folderOf: (name) => dirname(packages.resolve(`${name}/package`)),
  })
  console.log(`${outfile}: ${Math.round(Bun.file(outfile).size / 1e6)} MB`)
}
