import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './root.ts'

const SOURCE = join(ROOT, 'src')
const MAP = /(?<=```\nsrc\/\n).*?(?=```)/s
const NAMES = /^ *(?=[\w-]+\/)((?:[\w-]+\/ ?)+)/
/** The column in which descriptions begin. */
const COLUMN = 27

type Line = { text: string; directories: string[] }

/** The lines of the map in `docs/architecture.md`, each with the directories of `src/` that it describes. */
function readLines(page: string): Line[] {
  const parents: { indent: number; paths: string[] }[] = []
  const lines = MAP.exec(page)?.[0].trimEnd().split('\n') ?? []
  return lines.map((text) => {
    const indent = text.search(/\S/)
    const names = NAMES.exec(text)?.[1]?.match(/[\w-]+/g)
    if (!names) return { text, directories: [] }
    while ((parents.at(-1)?.indent ?? -1) >= indent) parents.pop()
    const above = parents.at(-1)?.paths ?? ['']
    const directories = above.flatMap((path) => names.map((name) => join(path, name)))
    parents.push({ indent, paths: directories })
    return { text, directories }
  })
}

/** The directories of `src/` that the page describes. */
export function listDescribed(page: string): string[] {
  return readLines(page).flatMap(({ directories }) => directories.filter(isDirectoryInSource))
}

/** The page without directories that are gone, and with new features, described by their comments. */
export function updateMap(page: string): string {
  const lines = readLines(page).flatMap(({ text, directories }) => {
    if (directories.length === 0) return [text]
    const [path = '', ...others] = directories.filter(isDirectoryInSource)
    if (path === '') return []
    const known = new Set([path, ...others].map((directory) => directory.split('/').at(-1)))
    return [
      text.replace(
        /(?<=^ +(?:[\w-]+\/ )*)([\w-]+)\/ ?/g,
        keepIf((name) => known.has(name)),
      ),
    ]
  })
  const described = listDescribed(page)
  const added = [...new Bun.Glob('features/*/feature.ts').scanSync(SOURCE)]
    .map((path) => path.replace('/feature.ts', ''))
    .filter((path) => !described.includes(path))
  const end = lines.findIndex((text) => text.startsWith('  operations/'))
  lines.splice(end, 0, ...added.toSorted().map(describeFeature))
  return page.replace(MAP, () => `${lines.join('\n')}\n`)
}

function keepIf(isKept: (name: string) => boolean) {
  return (whole: string, name: string) => (isKept(name) ? whole : '')
}

function describeFeature(path: string): string {
  const text = readFileSync(join(SOURCE, path, 'feature.ts'), 'utf8')
  const [, comment] = /\/\*\* (.+)\. \*\/\nexport const \w+Feature = /.exec(text) ?? []
  if (comment === undefined) throw new Error(`${path}/feature.ts has no comment above its feature.`)
  const sentence = comment.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())
  return `${`    ${path.replace('features/', '')}/`.padEnd(COLUMN)}${sentence}`
}

function isDirectoryInSource(path: string): boolean {
  return existsSync(join(SOURCE, path))
}
