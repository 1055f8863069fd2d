/** Compares versions such as `2.4` and `2.10.1`; missing parts are 0. Negative when `a` is older. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number)) as [number[], number[]]
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** The leading numbers of a version such as `v2.4.0-beta.1` or `1.9.3(231)`; null if it has none. */
export function plainVersion(version: string): string | null {
  // Numbers of more than 15 digits cannot be compared exactly.
  return /^\s*v?(\d{1,15}(?!\d)(?:\.\d{1,15}(?!\d)){0,9})/i.exec(version)?.[1] ?? null
}
