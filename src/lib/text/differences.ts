import { isRule } from './rule-labels.ts'

/** Null where the value was or is absent. */
export type Difference = { path: string; before: unknown; after: unknown }

/**
 * Differences by path, such as `pro_year.name.de`. A rule is compared as a whole, because its conditions only make
 * sense together. A named item that was added, removed or moved is one difference; paths of moves end in `Order`.
 */
export function differencesBetween(earlier: unknown, later: unknown, path = ''): Difference[] {
  const members = compareMembers(earlier, later, path)
  if (members) {
    const inside = members.flatMap(({ path, before, after }) =>
      differencesBetween(before, after, path),
    )
    return isMoved(earlier, later) ? [...inside, describeMove(earlier, later, path)] : inside
  }
  if (JSON.stringify(earlier) === JSON.stringify(later)) return []
  return [{ path, before: earlier ?? null, after: later ?? null }]
}

/** The earlier value, with only the chosen differences from the later value applied. */
export function applyDifferences(
  earlier: unknown,
  later: unknown,
  isChosen: (path: string) => boolean,
  path = '',
): unknown {
  const members = compareMembers(earlier, later, path)
  if (!members) return isChosen(path) ? later : earlier
  const entries = members
    .map(({ name, path, before, after }) => {
      return [name, applyDifferences(before, after, isChosen, path)] as const
    })
    .filter(([, value]) => value !== undefined)
  if (!Array.isArray(earlier ?? later)) return Object.fromEntries(entries)
  if (isMoved(earlier, later) && !isChosen(describeMove(earlier, later, path).path)) {
    const order = listNames(earlier)
    entries.sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
  }
  return entries.map(([, value]) => value)
}

export function splitDifferences(differences: Difference[]) {
  const side = (name: 'before' | 'after') =>
    Object.fromEntries(differences.map((one) => [one.path, one[name]]))
  return { before: side('before'), after: side('after') }
}

/** The members of two objects or two lists, with their paths; null for other values. */
function compareMembers(earlier: unknown, later: unknown, path: string) {
  const before = earlier ?? emptyRulesLike(later)
  const after = later ?? emptyRulesLike(earlier)
  if (!isTree(before) || !isTree(after)) return null
  if (Array.isArray(before) !== Array.isArray(after)) return null
  const [items, others] = [listNames(before), listNames(after)]
  if (areComparable(items, others)) {
    return (items.length > others.length ? items : others).map((name) => ({
      name,
      path: joinPath(path, name),
      before: ownValue(before, String(items.indexOf(name))),
      after: ownValue(after, String(others.indexOf(name))),
    }))
  }
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].map((name) => ({
    name,
    path: joinPath(path, name),
    before: ownValue(before, name),
    after: ownValue(after, name),
  }))
}

/** Whether items match by name: the same in any order, or only added or only removed. Otherwise, they may have been renamed. */
function areComparable(items: string[], others: string[]): boolean {
  if (items.length === 0 || others.length === 0) return false
  if (isPermutation(items, others)) return true
  const [fewer, more] = items.length < others.length ? [items, others] : [others, items]
  return fewer.length < more.length && fewer.join('\n') === keepWanted(more, fewer).join('\n')
}

function keepWanted(names: string[], wanted: string[]): string[] {
  return names.filter((name) => wanted.includes(name))
}

function isPermutation(items: string[], others: string[]): boolean {
  return items.toSorted().join('\n') === others.toSorted().join('\n')
}

function isMoved(earlier: unknown, later: unknown): boolean {
  const [items, others] = [listNames(earlier), listNames(later)]
  return items.join('\n') !== others.join('\n') && isPermutation(items, others)
}

function describeMove(earlier: unknown, later: unknown, path: string): Difference {
  return { path: joinPath(path, 'Order'), before: listNames(earlier), after: listNames(later) }
}

function joinPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

/** The names of the items of a list, such as codes of plans; empty if one has no name, or two have the same. */
function listNames(list: unknown): string[] {
  if (!Array.isArray(list)) return []
  const names = list.map((item) => item?.code ?? firstText(item?.question))
  const areNames = names.every((name) => typeof name === 'string')
  return areNames && new Set(names).size === names.length ? names : []
}

/** A text, or the first of its translations. */
function firstText(text: unknown): unknown {
  return typeof text === 'string' ? text : Object.values(text ?? {})[0]
}

/** An empty list for a list of rules, and an empty object for several lists by key. */
function emptyRulesLike(value: unknown): unknown {
  if (!isTree(value)) return undefined
  const members = Object.values(value)
  if (members.length === 0) return undefined
  if (Array.isArray(value)) return members.every(isRule) ? [] : undefined
  return members.every((one) => Array.isArray(one) && one.every(isRule)) ? {} : undefined
}

function ownValue(tree: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(tree, name) ? tree[name] : undefined
}

function isTree(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !isRule(value)
}

/** A part of a text: in both versions, or in one of them. */
export type TextPart = { kind: 'same' | 'removed' | 'added'; text: string }

/** Comparing longer texts would take too long; everything between their common ends is replaced. */
const MAX_WORD_PAIRS = 1_000_000

/** What was removed from a text and added to it, word by word. */
export function compareTexts(earlier: string, later: string): TextPart[] {
  const [before, after] = [splitWords(earlier), splitWords(later)]
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before[start] === after[start]) start++
  let end = 0
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const removed = before.slice(start, before.length - end)
  const added = after.slice(start, after.length - end)
  const parts: TextPart[] = []
  const push = (kind: TextPart['kind'], words: string[]) => {
    const last = parts.at(-1)
    if (last?.kind === kind) last.text += words.join('')
    else if (words.length > 0) parts.push({ kind, text: words.join('') })
  }
  push('same', before.slice(0, start))
  const isShort = removed.length * added.length <= MAX_WORD_PAIRS
  const shared = isShort ? countShared(removed, added) : []
  let [from, to] = [0, 0]
  while (isShort && from < removed.length && to < added.length) {
    if (removed[from] === added[to]) {
      push('same', removed.slice(from, ++from))
      to++
    } else if (readCount(shared, from + 1, to) >= readCount(shared, from, to + 1)) {
      push('removed', removed.slice(from, ++from))
    } else push('added', added.slice(to, ++to))
  }
  push('removed', removed.slice(from))
  push('added', added.slice(to))
  push('same', before.slice(before.length - end))
  return parts
}

/** The words of a text, each with the white space before it. */
function splitWords(text: string): string[] {
  return text.split(/(?<=\S)(?=\s)/).filter(Boolean)
}

/** The length of the longest common subsequence of each pair of suffixes of two lists. */
function countShared(before: string[], after: string[]): Uint32Array[] {
  const counts = before.map(() => new Uint32Array(after.length + 1))
  for (const [from, row] of [...counts.entries()].toReversed()) {
    for (let to = after.length - 1; to >= 0; to--) {
      row[to] =
        before[from] === after[to]
          ? readCount(counts, from + 1, to + 1) + 1
          : Math.max(readCount(counts, from + 1, to), readCount(counts, from, to + 1))
    }
  }
  return counts
}

function readCount(counts: Uint32Array[], from: number, to: number): number {
  return counts[from]?.[to] ?? 0
}
