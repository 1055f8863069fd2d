import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { declareModels } from './client-models.ts'
import { ROOT } from './root.ts'

/** This module refers to the server's types, which the package declares in full. */
const MODELS = 'client/models'
const SERVER_TYPES = /^(server|operations|features|platform)\/|^client\/routes$/
const COMMENTS = /\/\*.*?\*\//gs
const IMPORT = /(from |import\()['"](\.[^'"]+)\.ts['"]/g

/**
 * The type declarations of modules in `src/client`, and of the files that these import, by file name. Exported
 * functions must declare their types, because the compiler reads only the client's files.
 */
export async function readDeclarations(modules: string[]): Promise<Map<string, string>> {
  await mkdir(join(ROOT, 'dist'), { recursive: true })
  const folder = await mkdtemp(join(ROOT, 'dist', 'declarations-'))
  try {
    await generateDeclarations(folder)
    const found = new Map<string, string>()
    for (const name of modules) await collect(folder, `client/${name}`, found)
    return new Map(
      [...found].map(([path, text]) => [`${basename(path)}.d.ts`, text] as const).toSorted(),
    )
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Without following imports and without checking, the compiler takes 0.2 s instead of 8 s. */
async function generateDeclarations(folder: string) {
  const config = {
    extends: '../../tsconfig.json',
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      noCheck: true,
      noResolve: true,
      types: [],
      rootDir: '../../src',
      outDir: '.',
    },
    include: ['../../src/client', '../../src/lib'],
  }
  const path = join(folder, 'tsconfig.json')
  await writeFile(path, JSON.stringify(config))
  const compiler = Bun.spawn([process.execPath, 'node_modules/.bin/tsc', '-p', path], {
    cwd: ROOT,
    stdout: 'inherit',
    stderr: 'inherit',
  })
  if ((await compiler.exited) !== 0)
    throw new Error("the client's type declarations could not be generated")
}

/** Collects a declaration file and those that it imports, with import paths for a single folder. */
async function collect(folder: string, name: string, found: Map<string, string>) {
  if (found.has(name)) return
  const same = [...found.keys()].find((other) => basename(other) === basename(name))
  if (same) throw new Error(`${name} and ${same} need different file names`)
  const text =
    name === MODELS ? declareModels() : await readFile(join(folder, `${name}.d.ts`), 'utf8')
  if (/\b(any|ClientModels)\b/.test(text.replace(COMMENTS, '')))
    throw new Error(`${name} has a type that the compiler cannot see: declare it in src/client`)
  found.set(
    name,
    text.replace(IMPORT, (_all, before, path) => `${before}'./${basename(path)}.js'`),
  )
  for (const [, , path = ''] of text.matchAll(IMPORT)) {
    const target = join(dirname(name), path)
    if (SERVER_TYPES.test(target))
      throw new Error(`${name} exposes server types: declare them in src/client`)
    await collect(folder, target, found)
  }
}
