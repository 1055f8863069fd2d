import {
  compareTexts,
  type Difference,
  differencesBetween,
  type TextPart,
} from '../../lib/text/differences.ts'
import { isObject } from '../../lib/text/json.ts'
import { changeLabel } from '../editing/field-labels.ts'
import { isIsoTime, value } from '../format.ts'
import { Time } from './parts.tsx'

/** A selection of changes, by the paths of those left out. */
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
function Change(difference: Difference) {
  return (
    <>
      <strong>{changeLabel(difference.path)}</strong>: <ChangedValue {...difference} />
    </>
  )
}

function ChangedValue({ path, before, after }: Difference) {
  if (after === null && isItem(before)) return 'removed'
  if (before === null && isItem(after)) {
    return (
      <>
        added
        <Changes changes={listMembers(path, after)} />
      </>
    )
  }
  const parts = isLongText(before) && isLongText(after) ? compareTexts(before, after) : []
  if (parts.some(({ kind }) => kind === 'same')) return <TextParts parts={parts} />
  return (
    <>
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

const MIN_LONG_LENGTH = 60

function isLongText(value: unknown): value is string {
  return typeof value === 'string' && (value.length >= MIN_LONG_LENGTH || value.includes('\n'))
}

/** A text with the words that were removed and added, and some of the words around them. */
function TextParts({ parts }: { parts: TextPart[] }) {
  return (
    <span class="compared" dir="auto">
      {parts.map(({ kind, text }, at) => {
        if (kind === 'same') return shorten(text, at > 0, at < parts.length - 1)
        const Mark = kind === 'removed' ? 'del' : 'ins'
        return (
          <Mark key={at}>
            <span class="unseen">{kind}: </span>
            {text}
          </Mark>
        )
      })}
    </span>
  )
}

/** The beginning of an unchanged part if a change precedes it, and its end if a change follows. */
function shorten(text: string, keepsStart: boolean, keepsEnd: boolean): string {
  const start = keepsStart ? (/^.{0,60}(?!\S)/s.exec(text)?.[0] ?? '') : ''
  const end = keepsEnd ? (/(?<!\S)\S.{0,60}$/s.exec(text)?.[0] ?? '') : ''
  return text.length <= start.length + end.length + 20 ? text : `${start} … ${end}`
}

/** The fields of an item; a text has a line for each language. */
function listMembers(path: string, item: unknown): Difference[] {
  return differencesBetween({}, item, path).flatMap((one) =>
    isLocalized(one.after) ? differencesBetween({}, one.after, one.path) : one,
  )
}

function isLocalized(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((text) => typeof text === 'string')
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
