import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Makes `dist/client`: the client in one file, and the types that it shows, without those of the server. */
const FOLDER = join(import.meta.dir, 'dist', 'client')
const DECLARATIONS = join(import.meta.dir, 'dist', 'declarations')
const ENTRY = 'client/client'

await rm(FOLDER, { recursive: true, force: true })
await mkdir(DECLARATIONS, { recursive: true })
await bundle()
await declare()
await collect(ENTRY)
await rm(DECLARATIONS, { recursive: true })

async function bundle() {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, 'src', `${ENTRY}.ts`)],
    target: 'browser',
    minify: true,
    outdir: FOLDER,
  })
  if (!built.success) throw new AggregateError(built.logs)
  const bytes = await Bun.file(join(FOLDER, 'client.js')).bytes()
  const [size, packed] = [bytes, Bun.gzipSync(bytes)].map(({ length }) => (length / 1e3).toFixed(1))
  console.log(`dist/client/client.js: ${size} kB, ${packed} kB gzipped`)
}

/** The compiler writes the types of the routes out, so that nobody needs the server's source for them. */
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
    include: [],
    files: [`../../src/${ENTRY}.ts`, '../../src/http/assets.d.ts'],
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

/** Copies a declaration and those that it imports, side by side. */
async function collect(name: string) {
  const text = await readFile(join(DECLARATIONS, `${name}.d.ts`), 'utf8')
  const imports = [...text.matchAll(/from '(\.[^']+)\.ts'/g)].map(([, path = '']) => path)
  const flat = text.replace(/from '\.[^']*?([^/']+)\.ts'/g, "from './$1.js'")
  await writeFile(join(FOLDER, `${basename(name)}.d.ts`), flat)
  for (const path of new Set(imports)) {
    const target = join(dirname(name), path)
    if (/^(app|client\/routes)$/.test(target)) {
      throw new Error(`${name} shows types of the server: write them so that they are expanded`)
    }
    await collect(target)
  }
}
