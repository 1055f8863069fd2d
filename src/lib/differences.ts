import { isRule } from './rule-words.ts'

/** A changed value; null where it was absent before or is absent now. */
export type Difference = { path: string; before: unknown; after: unknown }

/**
 * The differences between two JSON values by path, such as `ios.latestVersion` or
 * `pro_year.name.de`. A
 * rule is compared as a whole, because its conditions are understood only together.
 */
export function differencesBetween(earlier: unknown, later: unknown, path = ''): Difference[] {
  const members = membersOf(earlier, later, path)
  if (members) {
    return members.flatMap(({ path, before, after }) => differencesBetween(before, after, path))
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
  const members = membersOf(earlier, later, path)
  if (!members) return isChosen(path) ? later : earlier
  const entries = members
    .map(({ name, path, before, after }) => {
      return [name, applyDifferences(before, after, isChosen, path)] as const
    })
    .filter(([, value]) => value !== undefined)
  return Array.isArray(earlier ?? later)
    ? entries.map(([, value]) => value)
    : Object.fromEntries(entries)
}

/** The values before and after, by path. */
export function beforeAndAfterOf(differences: Difference[]) {
  const side = (name: 'before' | 'after') =>
    Object.fromEntries(differences.map((one) => [one.path, one[name]]))
  return { before: side('before'), after: side('after') }
}

/** The members of two objects or two lists, with their paths; null for other values. */
function membersOf(earlier: unknown, later: unknown, path: string) {
  const before = earlier ?? emptyRulesLike(later)
  const after = later ?? emptyRulesLike(earlier)
  if (!isTree(before) || !isTree(after)) return null
  if (Array.isArray(before) !== Array.isArray(after)) return null
  const items = itemNames(before)
  const areSameItems = items.length > 0 && items.join('\n') === itemNames(after).join('\n')
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].map((name, at) => ({
    name,
    path: [...(path === '' ? [] : [path]), areSameItems ? items[at] : name].join('.'),
    before: ownValue(before, name),
    after: ownValue(after, name),
  }))
}

/** The names of the items of a list, such as codes of plans; empty if one has no name. */
function itemNames(list: Record<string, unknown>): string[] {
  if (!Array.isArray(list)) return []
  const names = list.map((item) => item?.code ?? Object.values(item?.question ?? {})[0])
  return names.every((name) => typeof name === 'string') ? names : []
}

/** An empty list for a list of rules, and an empty object for several lists by key. */
function emptyRulesLike(value: unknown): unknown {
  if (!isTree(value)) return undefined
  const members = Object.values(value)
  if (members.length === 0) return undefined
  if (Array.isArray(value)) return members.every(isRule) ? [] : undefined
  return members.every((one) => Array.isArray(emptyRulesLike(one))) ? {} : undefined
}

function ownValue(tree: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(tree, name) ? tree[name] : undefined
}

function isTree(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !isRule(value)
}
