import type { Difference } from '../../lib/differences.ts'
import { value } from '../format.ts'

/** Changed fields with their old and new values. */
export function Changes({ changes }: { changes: Difference[] }) {
  return (
    <ul class="changes">
      {changes.map(({ path, before, after }) => (
        <li key={path}>
          <strong>{path}</strong>: {before === null ? 'set to' : <del>{value(before)}</del>}
          {before === null ? ' ' : ' → '}
          <ins>{value(after)}</ins>
        </li>
      ))}
    </ul>
  )
}
