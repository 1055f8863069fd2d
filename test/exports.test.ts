import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'

type File = { path: string; text: string }

const ROOT = join(import.meta.dir, '..')
const EXPORT = /^export (?:async )?(?:function\*?|const|type|class) (\w+)/gm
const IMPORT = /(?:^|\n)(?:import|export)\s([^'"]*?)from\s+'([^']+)'|import\('([^']+)'\)/g

const files: File[] = ['{src,test,scripts}/**/*.{ts,tsx}', 'drizzle/**/*.cjs']
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(ROOT)])
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))

test('there are no unused exports', () => {
  const unused = files
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap((file) =>
      [...file.text.matchAll(EXPORT)]
        .map(([, name = '']) => name)
        .filter((name) => !isUsed(file, new RegExp(`\\b${name}\\b`)))
        .map((name) => `${file.path}: ${name}`),
    )
  expect(unused).toEqual([])
})

/** Apps import the exports of the client, so there any mention in another file counts as a use. */
function isUsed({ path }: File, name: RegExp): boolean {
  const usesIn = (other: File) =>
    path.startsWith('src/client/') ? [other.text] : namesImportedFrom(path, other)
  return files.some((other) => other.path !== path && usesIn(other).some((text) => name.test(text)))
}

/** What stands before `from` in each import of `target`; a dynamic import may use any name in its file. */
function namesImportedFrom(target: string, { path, text }: File): string[] {
  if (!text.includes(basename(target))) return []
  return [...text.matchAll(IMPORT)].flatMap(([, names, fixed, dynamic]) => {
    const from = normalize(join(dirname(path), fixed ?? dynamic ?? ''))
    return from === target ? [names ?? text] : []
  })
}
