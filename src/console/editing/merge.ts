import { isRule } from '../../lib/rule-words.ts'

type Tree = Record<string, unknown>

/** Combines two edits of `base`. Where both changed the same field, `mine` wins. */
export function merge(base: unknown, mine: unknown, theirs: unknown): unknown {
  if (isSame(mine, base)) return theirs
  if (isSame(theirs, base)) return mine
  if (isList(base) && isList(mine) && isList(theirs)) return mergeLists(base, mine, theirs)
  const origin = base ?? {}
  if (!isTree(origin) || !isTree(mine) || !isTree(theirs)) return mine
  const names = new Set([...Object.keys(mine), ...Object.keys(theirs)])
  const entries = [...names].map((name) => [name, merge(origin[name], mine[name], theirs[name])])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** Matches items by their code or question, wherever they are in the list. */
function mergeLists(base: Tree[], mine: Tree[], theirs: Tree[]): Tree[] {
  const [before, edited] = [byName(base), byName(mine)]
  const result = theirs
    .filter((item) => edited.has(nameOf(item)) || !before.has(nameOf(item)))
    .map((item) => {
      const name = nameOf(item)
      return (edited.has(name) ? merge(before.get(name), edited.get(name), item) : item) as Tree
    })
  const known = byName(result)
  for (const [at, item] of mine.entries()) {
    if (!known.has(nameOf(item)) && !before.has(nameOf(item))) result.splice(at, 0, item)
  }
  return result
}

function byName(list: Tree[]): Map<string, Tree> {
  return new Map(list.map((item) => [nameOf(item), item]))
}

function nameOf(item: Tree): string {
  return JSON.stringify(item['code'] ?? item['question'] ?? item)
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Whether a value is a list of records. Rules are none: which one matches depends on their order. */
function isList(value: unknown): value is Tree[] {
  return Array.isArray(value) && value.every((item) => isTree(item) && !isRule(item))
}

function isTree(value: unknown): value is Tree {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
