import { isObject } from '../../lib/text/json.ts'
import { isRule } from '../../lib/text/rule-labels.ts'

type Tree = Record<string, unknown>

/** Combines two edits of `base`. Where both changed the same field, `mine` wins. */
export function merge(base: unknown, mine: unknown, theirs: unknown): unknown {
  if (isSame(mine, base)) return theirs
  if (isSame(theirs, base)) return mine
  if (isList(base) && isList(mine) && isList(theirs)) return mergeLists(base, mine, theirs)
  const origin = base ?? {}
  if (!isObject(origin) || !isObject(mine) || !isObject(theirs)) return mine
  const names = new Set([...Object.keys(mine), ...Object.keys(theirs)])
  const entries = [...names].map((name) => [name, merge(origin[name], mine[name], theirs[name])])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** An item of each list; undefined where it was added or deleted. */
type Row = { base?: Tree | undefined; mine?: Tree | undefined; theirs?: Tree | undefined }

/**
 * Keeps my order unless they moved items, and both sides' additions and deletions. An item that one side deleted and I
 * edited stays.
 */
function mergeLists(base: Tree[], mine: Tree[], theirs: Tree[]): Tree[] {
  const rows = alignRows(base, mine, theirs)
  const [first, second] = isMoved(rows, theirs) ? (['theirs', 'mine'] as const) : SIDES
  const lists = { mine, theirs }
  const sorted = (side: 'mine' | 'theirs') => {
    const findIndex = (row: Row) => lists[side].indexOf(row[side] as Tree)
    return rows.filter((row) => row[side]).toSorted((a, b) => findIndex(a) - findIndex(b))
  }
  const result = sorted(first)
  for (const row of sorted(second))
    if (!row[first]) result.splice(lists[second].indexOf(row[second] as Tree), 0, row)
  return result.map(mergeRow).filter((item) => item !== null)
}

const SIDES = ['mine', 'theirs'] as const

function alignRows(base: Tree[], mine: Tree[], theirs: Tree[]): Row[] {
  const [inMine, inTheirs] = [counterparts(base, mine), counterparts(base, theirs)]
  const known = base.map(
    (item): Row => ({ base: item, mine: inMine.get(item), theirs: inTheirs.get(item) }),
  )
  const isAdded = (list: Tree[], found: Map<Tree, Tree>) => {
    const kept = new Set(found.values())
    return list.filter((item) => !kept.has(item))
  }
  const addedByThem = isAdded(theirs, inTheirs)
  const added = isAdded(mine, inMine).map((item): Row => {
    const at = addedByThem.findIndex((other) => readName(other) === readName(item))
    return { mine: item, theirs: at === -1 ? undefined : addedByThem.splice(at, 1)[0] }
  })
  return [...known, ...added, ...addedByThem.map((item): Row => ({ theirs: item }))]
}

/** Matches items by their code or question, and an edited question by its answer, otherwise by its position. */
function counterparts(base: Tree[], list: Tree[]): Map<Tree, Tree> {
  const found = new Map<Tree, Tree>()
  const taken = new Set<Tree>()
  for (const readKey of [readName, readAnswer]) {
    const keyed = new Map(list.map((item) => [readKey(item), item]))
    for (const item of base) {
      const same = keyed.get(readKey(item))
      if (!same || found.has(item) || taken.has(same)) continue
      found.set(item, same)
      taken.add(same)
    }
  }
  for (const [at, item] of base.entries()) {
    const other = list[at]
    if (other && !found.has(item) && !taken.has(other) && item['question']) found.set(item, other)
  }
  return found
}

function isMoved(rows: Row[], theirs: Tree[]): boolean {
  const places = rows.flatMap(({ base, theirs: item }) =>
    base && item ? theirs.indexOf(item) : [],
  )
  return places.some((place, at) => place < (places[at - 1] ?? 0))
}

/** Null for a deleted item. */
function mergeRow({ base, mine, theirs }: Row): Tree | null {
  if (mine && theirs) return merge(base, mine, theirs) as Tree
  if (!base) return mine ?? theirs ?? null
  return mine && !isSame(mine, base) ? mine : null
}

function readName(item: Tree): string {
  return JSON.stringify(item['code'] ?? item['question'] ?? item)
}

function readAnswer(item: Tree): string {
  return JSON.stringify(item['answer'] ?? item)
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Whether a value is a list of records. Lists of rules do not count: which one matches depends on their order. */
function isList(value: unknown): value is Tree[] {
  return Array.isArray(value) && value.every((item) => isObject(item) && !isRule(item))
}
