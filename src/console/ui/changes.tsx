import type { Difference } from '../../lib/differences.ts'
import { value } from '../format.ts'

/** What a change has changed, a line a field. */
export function Changes({ of }: { of: Difference[] }) {
  return (
    <ul class="changes">
      {of.map(({ path, before, after }) => (
        <li key={path}>
          <strong>{path}</strong>: {before === null ? 'set to' : <del>{value(before)}</del>}
          {before === null ? ' ' : ' → '}
          <ins>{value(after)}</ins>
        </li>
      ))}
    </ul>
  )
}

/** What an entry of the audit log says of before and after. */
export function BeforeAfter({
  before,
  after,
}: {
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}) {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  const differences = [...names].map((path) => ({
    path,
    before: before?.[path] ?? null,
    after: after?.[path] ?? null,
  }))
  return <Changes of={differences} />
}
