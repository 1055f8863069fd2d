import { type Difference, differencesBetween } from '../../lib/text/differences.ts'
import { changeLabel } from '../editing/field-labels.ts'
import { isIsoTime, value } from '../format.ts'
import { Time } from './parts.tsx'

/** A choice of changes: the paths of those left out. */
export type Choice = { leftOut: string[]; onChange: (leftOut: string[]) => void }

/** Changed fields with their old and new values. With a choice, each has a checkbox. */
export function Changes({ changes, choice }: { changes: Difference[]; choice?: Choice }) {
  return (
    <ul class="changes">
      {changes.map(({ path, before, after }) => (
        <li key={path}>
          {choice && <Include path={path} choice={choice} />}
          <Change path={path} before={before} after={after} />
        </li>
      ))}
    </ul>
  )
}

/** `Hard paywall: no → yes`; all fields of an item that was added. */
function Change({ path, before, after }: Difference) {
  if (after === null && isItem(before)) {
    return (
      <>
        <strong>{changeLabel(path)}</strong>: removed
      </>
    )
  }
  if (before === null && isItem(after)) {
    return (
      <>
        <strong>{changeLabel(path)}</strong>: added
        <Changes changes={differencesBetween({}, after)} />
      </>
    )
  }
  return (
    <>
      <strong>{changeLabel(path)}</strong>:{' '}
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
    </>
  )
}

/** Whether a value is a whole plan or question. */
function isItem(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('code' in value || 'question' in value)
}

function Include({ path, choice: { leftOut, onChange } }: { path: string; choice: Choice }) {
  const others = leftOut.filter((one) => one !== path)
  return (
    <input
      type="checkbox"
      aria-label={changeLabel(path)}
      checked={!leftOut.includes(path)}
      onChange={(event) => onChange(event.currentTarget.checked ? others : [...others, path])}
    />
  )
}

function Value({ of }: { of: unknown }) {
  return isIsoTime(of) ? <Time at={of} /> : value(of)
}
