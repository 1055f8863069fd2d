import type { Difference } from '../../../lib/text/differences.ts'
import { declarations } from '../../declared.ts'
import { changeLabel } from '../../editing/field-labels.ts'
import { isIsoTime, plural, time, value } from '../../format.ts'

/** Says what an action did; an export names its list. An unknown action keeps its name. */
export function labelAction(action: string): string {
  const { labels } = declarations.value
  const [, list] = /^(.+)\.export(?:-csv)?$/.exec(action) ?? []
  return labels[action] ?? (list === undefined ? action : `Exported ${list}`)
}

/** The actions that a filter can name, by label. */
export function listActions(): string[] {
  return Object.keys(declarations.value.labels).toSorted((one, other) =>
    labelAction(one).localeCompare(labelAction(other)),
  )
}

/** Says what an action did without its target, such as `Deleted account`. */
export function nameAction(action: string): string {
  return labelAction(action).replace(/ (of|to|for)$/, '')
}

const MAX_SUMMARY_LENGTH = 80

/** A single short change, such as `Hard paywall: no → yes`; for several changes, their names. */
export function summarizeChanges(changes: Difference[]): string {
  const names = changes.map(({ path }) => changeLabel(path))
  const [change] = changes
  const full =
    change &&
    `${names[0]}: ${change.before === null ? '' : `${text(change.before)} → `}${text(change.after)}`
  if (full && changes.length === 1 && full.length <= MAX_SUMMARY_LENGTH) return full
  const list = names.join(', ')
  return list.length <= MAX_SUMMARY_LENGTH ? list : plural(changes.length, 'change')
}

function text(input: unknown): string {
  return isIsoTime(input) ? time(input) : value(input)
}
