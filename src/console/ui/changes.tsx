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
        <Changes changes={listMembers(path, after)} />
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

/** What an item consists of; a text has a line for each language. */
function listMembers(path: string, item: unknown): Difference[] {
  return differencesBetween({}, item, path).flatMap((one) =>
    isLocalized(one.after) ? differencesBetween({}, one.after, one.path) : one,
  )
}

function isLocalized(value: unknown): boolean {
  const isTree = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isTree && Object.values(value).every((text) => typeof text === 'string')
}

/** Whether a value is a whole plan, question or e-mail. */
function isItem(value: unknown): boolean {
  const names = ['code', 'question', 'subject']
  return typeof value === 'object' && value !== null && names.some((name) => name in value)
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
