/** A changed value; null where it was absent before or is absent now. */
export type Difference = { path: string; before: unknown; after: unknown }

/** The differences between two JSON values by path, such as `ios.latestVersion` or `0.name.de`. */
export function differencesBetween(before: unknown, after: unknown, path = ''): Difference[] {
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

function ownValue(tree: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(tree, name) ? tree[name] : undefined
}

function isTree(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object'
}
