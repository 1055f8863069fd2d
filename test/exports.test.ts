import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { isFeatureLeftOut } from './support/left-out.ts'

type File = { path: string; text: string }

const ROOT = join(import.meta.dir, '..')
const EXPORT = /^export (?:async )?(?:function\*?|const|type|class) (\w+)/gm
const IMPORT = /(?:^|\n)(?:import|export)\s([^'"]*?)from\s+'([^']+)'|import\('([^']+)'\)/g

const files: File[] = ['{src,test,scripts}/**/*.{ts,tsx}', 'drizzle/**/*.cjs']
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(ROOT)])
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))

/** The text before `from` in the imports of each file; a dynamic import may use any name in its own file. */
const imported = new Map<string, string[]>()
for (const { path, text } of files) {
  for (const [, names, fixed, dynamic] of text.matchAll(IMPORT)) {
    const target = normalize(join(dirname(path), fixed ?? dynamic ?? ''))
    imported.set(target, [...(imported.get(target) ?? []), names ?? text])
  }
}

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

/**
 * Apps import the exports of the client, so there any mention in another file counts as a use. A feature that was left
 * out may have been the only one to import what its own file uses too.
 */
function isUsed({ path, text }: File, name: RegExp): boolean {
  if (isFeatureLeftOut && text.split(name).length > 2) return true
  if (!path.startsWith('src/client/'))
    return (imported.get(path) ?? []).some((names) => name.test(names))
  return files.some((other) => other.path !== path && name.test(other.text))
}
