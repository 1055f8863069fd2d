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

/** The actions to choose from, by label; `current` may be another. */
export function actionOptions(current = ''): [action: string, label: string][] {
  const names = Object.keys(declarations.value.labels)
  return [...new Set([...names, ...(current === '' ? [] : [current])])]
    .map((name): [string, string] => [name, labelAction(name).replace(/ (of|to|for)$/, '')])
    .toSorted(([, one], [, other]) => one.localeCompare(other))
}

const MAX_SUMMARY_LENGTH = 80

/** A single short change, such as `Hard paywall: no → yes`; the names of several. */
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
