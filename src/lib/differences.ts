import { isRule } from './rule-words.ts'

/** A changed value; null where it was absent before or is absent now. */
export type Difference = { path: string; before: unknown; after: unknown }

/**
 * The differences between two JSON values by path, such as `ios.latestVersion` or `0.name.de`. A
 * rule is compared as a whole, because its conditions are understood only together.
 */
export function differencesBetween(earlier: unknown, later: unknown, path = ''): Difference[] {
  const before = earlier ?? emptyRulesLike(later)
  const after = later ?? emptyRulesLike(earlier)
  if (isTree(before) && isTree(after) && Array.isArray(before) === Array.isArray(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...names].flatMap((name) =>
      differencesBetween(
        ownValue(before, name),
        ownValue(after, name),
        path === '' ? name : `${path}.${name}`,
      ),
    )
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  return [{ path, before: before ?? null, after: after ?? null }]
}

/** The values before and after, by path. */
export function beforeAndAfterOf(differences: Difference[]) {
  const side = (name: 'before' | 'after') =>
    Object.fromEntries(differences.map((one) => [one.path, one[name]]))
  return { before: side('before'), after: side('after') }
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
