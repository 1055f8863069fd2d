import type { Difference } from '../../lib/differences.ts'
import { describePath } from '../../lib/rule-words.ts'
import { isIsoTime, value } from '../format.ts'
import { Time } from './parts.tsx'

/** Changed fields with their old and new values. */
export function Changes({ changes }: { changes: Difference[] }) {
  return (
    <ul class="changes">
      {changes.map(({ path, before, after }) => (
        <li key={path}>
          <strong>{describePath(path)}</strong>:{' '}
          {before === null ? (
            'set to'
          ) : (
            <del>
              <Value of={before} />
            </del>
          )}
          {before === null ? ' ' : ' → '}
          <ins>
            <Value of={after} />
          </ins>
        </li>
      ))}
    </ul>
  )
}

function Value({ of }: { of: unknown }) {
  return isIsoTime(of) ? <Time at={of} /> : value(of)
}
