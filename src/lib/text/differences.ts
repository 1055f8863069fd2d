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
    return isMoved(earlier, later) ? [...inside, moveBetween(earlier, later, path)] : inside
  }
  if (JSON.stringify(earlier) === JSON.stringify(later)) return []
  return [{ path, before: earlier ?? null, after: later ?? null }]
}

/** The earlier value with the chosen ones of its differences from the later value. */
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
  if (isMoved(earlier, later) && !isChosen(moveBetween(earlier, later, path).path)) {
    const places = itemNames(earlier)
    entries.sort(([a], [b]) => places.indexOf(a) - places.indexOf(b))
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
  const [items, others] = [itemNames(before), itemNames(after)]
  if (areComparable(items, others)) {
    return (items.length > others.length ? items : others).map((name) => ({
      name,
      path: within(path, name),
      before: ownValue(before, String(items.indexOf(name))),
      after: ownValue(after, String(others.indexOf(name))),
    }))
  }
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].map((name) => ({
    name,
    path: within(path, name),
    before: ownValue(before, name),
    after: ownValue(after, name),
  }))
}

/** Whether items match by name: the same in any order, or only added or only removed. Others may have been renamed. */
function areComparable(items: string[], others: string[]): boolean {
  if (items.length === 0 || others.length === 0) return false
  if (isPermutation(items, others)) return true
  const [fewer, more] = items.length < others.length ? [items, others] : [others, items]
  return fewer.length < more.length && fewer.join('\n') === kept(more, fewer).join('\n')
}

function kept(names: string[], wanted: string[]): string[] {
  return names.filter((name) => wanted.includes(name))
}

function isPermutation(items: string[], others: string[]): boolean {
  return items.toSorted().join('\n') === others.toSorted().join('\n')
}

function isMoved(earlier: unknown, later: unknown): boolean {
  const [items, others] = [itemNames(earlier), itemNames(later)]
  return items.join('\n') !== others.join('\n') && isPermutation(items, others)
}

function moveBetween(earlier: unknown, later: unknown, path: string): Difference {
  return { path: within(path, 'Order'), before: itemNames(earlier), after: itemNames(later) }
}

function within(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

/** The names of the items of a list, such as codes of plans; empty if one has no name, or two have the same. */
function itemNames(list: unknown): string[] {
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
