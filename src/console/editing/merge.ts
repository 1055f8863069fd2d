type Tree = Record<string, unknown>

/** What was edited from `base` to `mine`, made to `theirs`, which was edited from `base` as well. Mine wins where both differ. */
export function merged(base: unknown, mine: unknown, theirs: unknown): unknown {
  if (isSame(mine, base)) return theirs
  if (isSame(theirs, base)) return mine
  if (isList(base) && isList(mine) && isList(theirs)) return mergedLists(base, mine, theirs)
  if (!isTree(base) || !isTree(mine) || !isTree(theirs)) return mine
  const names = new Set([...Object.keys(mine), ...Object.keys(theirs)])
  const entries = [...names].map((name) => [name, merged(base[name], mine[name], theirs[name])])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** Things in a list are known by their code or their question, wherever they stand. */
function mergedLists(base: Tree[], mine: Tree[], theirs: Tree[]): Tree[] {
  const [before, own] = [byName(base), byName(mine)]
  const result = theirs
    .filter((item) => own.has(nameOf(item)) || !before.has(nameOf(item)))
    .map((item) => {
      const name = nameOf(item)
      return (own.has(name) ? merged(before.get(name), own.get(name), item) : item) as Tree
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

function isList(value: unknown): value is Tree[] {
  return Array.isArray(value) && value.every(isTree)
}

function isTree(value: unknown): value is Tree {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
