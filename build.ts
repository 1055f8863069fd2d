import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { BunPlugin } from 'bun'
import { writeConsole } from './build-console.ts'

export type Build = {
  outfile: string
  /** As sharp names it: `linux-x64`, `linuxmusl-arm64`. */
  platform: string
  /** As Bun names it; without it the machine's own. */
  target?: Bun.Build.CompileTarget
  /** Where a package is. */
  folderOf: (name: string) => string
}

/** What a release is built for; the platform is sharp's word, the target Bun's. */
export const TARGETS = {
  'linux-x64': { platform: 'linux-x64', target: 'bun-linux-x64-baseline' },
  'linux-arm64': { platform: 'linux-arm64', target: 'bun-linux-arm64' },
  'linux-x64-musl': { platform: 'linuxmusl-x64', target: 'bun-linux-x64-musl' },
  'linux-arm64-musl': { platform: 'linuxmusl-arm64', target: 'bun-linux-arm64-musl' },
  'macos-arm64': { platform: 'darwin-arm64', target: 'bun-darwin-arm64' },
} as const

/** Makes one file with the server, sharp, the migrations and the first content. Throws what is wrong with the sources. */
export async function buildExecutable({ outfile, platform, target, folderOf }: Build) {
  await writeConsole(join(import.meta.dir, 'dist', 'console'))
  const result = await Bun.build({
    entrypoints: [join(import.meta.dir, 'src/main.ts')],
    plugins: [embedSharp(platform, folderOf), hidePaths()],
    // Renamed identifiers break @elysiajs/bearer at run time.
    minify: { syntax: true, whitespace: true, identifiers: false },
    sourcemap: 'linked',
    bytecode: true,
    format: 'esm',
    splitting: true,
    compile: {
      outfile,
      ...(target ? { target } : {}),
      assets: ['./drizzle', './data/seed', './dist/console'],
      autoloadBunfig: false,
      autoloadDotenv: true,
    },
  })
  if (!result.success) throw new Error(result.logs.join('\n'))
}

/**
 * Bun writes where a module was at the build into the executable, where the module asks for that: the folder of whoever
 * builds is nobody's business. These ask for the sake of threads that are not started.
 */
function hidePaths(): BunPlugin {
  return {
    name: 'hide-paths',
    setup(build) {
      build.onLoad({ filter: /node_modules\/(pino|thread-stream)\/.*\.js$/ }, ({ path }) => ({
        contents: readFileSync(path, 'utf8').replaceAll('__dirname', "'/'"),
        loader: 'js',
      }))
    },
  }
}

/**
 * Embeds sharp's addon and libvips as files, and puts a loader in the addon's place that unpacks both
 * beside each other (the addon finds the library relative to itself) and opens them.
 */
function embedSharp(platform: string, folderOf: Build['folderOf']): BunPlugin {
  const addon = nativeFile(`@img/sharp-${platform}`, '.node')
  const library = nativeFile(`@img/sharp-libvips-${platform}`, /\.so|\.dylib/)
  // The executable keeps the loader's source, which must not tell the folder that it was built in.
  const files: Record<string, string> = {
    '#addon': addon.source,
    '#library': library.source,
    '#load-native': join(import.meta.dir, 'src/features/attachments/images/native.ts'),
  }
  return {
    name: 'embed-sharp',
    setup(build) {
      build.onResolve({ filter: /^sharp$/ }, () => ({
        path: createRequire(import.meta.url).resolve('sharp'),
      }))
      build.onResolve({ filter: new RegExp(`^@img/sharp-${platform}/sharp\\.node$`) }, () => ({
        path: 'addon',
        namespace: 'native',
      }))
      build.onResolve({ filter: /^native-parts$/ }, () => ({ path: 'parts', namespace: 'native' }))
      build.onResolve({ filter: /^#(addon|library|load-native)$/ }, ({ path }) => ({
        path: files[path] as string,
      }))
      build.onLoad({ filter: /^addon$/, namespace: 'native' }, () => ({
        contents: `module.exports = require('native-parts').addon`,
        loader: 'js',
      }))
      build.onLoad({ filter: /^parts$/, namespace: 'native' }, () => ({
        contents: loader(),
        loader: 'ts',
      }))
      build.onLoad({ filter: /libvips-cpp\..*(so|dylib)|sharp-[\w.-]+\.node$/ }, ({ path }) => ({
        contents: readFileSync(path),
        loader: 'file',
      }))
    },
  }

  function nativeFile(name: string, ending: string | RegExp) {
    const folder = join(folderOf(name), 'lib')
    const file = readdirSync(folder).find((one) =>
      typeof ending === 'string' ? one.endsWith(ending) : ending.test(one),
    )
    if (!file) throw new Error(`${name} has no native library`)
    const source = join(folder, file)
    const hash = createHash('sha256').update(readFileSync(source)).digest('hex')
    return { source, hash, path: `${name}/lib/${file}` }
  }

  function loader(): string {
    const part = (name: string, { path, hash }: typeof addon) =>
      `{ embedded: ${name}, path: ${JSON.stringify(path)}, hash: ${JSON.stringify(hash)} }`
    return `import addonFile from '#addon' with { type: 'file' }
import libraryFile from '#library' with { type: 'file' }
import { loadNative } from '#load-native'
export const addon = loadNative([${part('addonFile', addon)}, ${part('libraryFile', library)}])
`
  }
}

if (import.meta.main) {
  // The Dockerfile names another platform than the machine's own, whose packages it has installed.
  const label = process.argv[2] as keyof typeof TARGETS | undefined
  const { resolve } = createRequire(import.meta.url)
  await buildExecutable({
    outfile: './dist/homeport',
    ...(label ? TARGETS[label] : { platform: `${process.platform}-${process.arch}` }),
    folderOf: (name) => dirname(resolve(`${name}/package`)),
  })
  console.log(`dist/homeport: ${Math.round(Bun.file('dist/homeport').size / 1e6)} MB`)
}
