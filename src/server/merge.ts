/** Merges declarations or services of several features, which must have different names. */
export function merge<Value>(
  records: (Record<string, Value> | undefined)[],
): Record<string, Value> {
  const entries = records.flatMap((record) => Object.entries(record ?? {}))
  const merged = Object.fromEntries(entries)
  const names = entries.map(([name]) => name)
  const repeated = names.filter((name, at) => names.indexOf(name) !== at)
  if (repeated.length > 0) throw new Error(`several features declare ${repeated.join(', ')}`)
  return merged
}

export type Intersection<Union> = (
  Union extends unknown
    ? (member: Union) => void
    : never
) extends (all: infer All) => void
  ? All
  : never
