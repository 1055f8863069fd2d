import { compareEvents, type EventOrder, type OrderedEvent } from '../lines/event-order.ts'
import { overrides, step } from '../lines/fold.ts'
import { EMPTY_LINE, type Line } from '../lines/line.ts'

/** An event that names another app user id than the one before it: there the owner may change. */
export type Naming = EventOrder & { name: string }

/** A line while it is folded. */
export type Folding = {
  line: Line
  last: EventOrder
  /** The first store that any of its events has named. */
  store: string | null
  /** Events since the last checkpoint, and where the id that they name changed. */
  count: number
  names: Naming[]
}

/**
 * What `subscriptions.state` and `line_checkpoints.state` hold: the line without what is null in it, and
 * what a later event needs in order to be added. States of older programs lack `tail`.
 */
export type FoldedLine = {
  line: Partial<Line>
  last: EventOrder
  store?: string
  tail?: { count: number; names: Naming[] }
  /** Events of the log are not in it yet: see `stale_lines`. */
  stale?: true
}

/** One event more, which comes after all that `before` knows. */
export function fold(before: Folding | null, event: OrderedEvent): Folding {
  const name = nameIn(event)
  const names = before?.names ?? []
  const isSame = name === null || names.at(-1)?.name === name
  return {
    line: step(before?.line ?? null, event),
    last: orderOf(event),
    store: before?.store ?? event.store,
    count: (before?.count ?? 0) + 1,
    names: isSame ? names : [...names, { ...orderOf(event), name }],
  }
}

/** Whether an event comes after all of a line, and not at an instant that a checkpoint has closed. */
export function comesAfter({ last, count }: Folding, event: OrderedEvent): boolean {
  return compareEvents(last, event) < 0 && (count > 0 || last.orderedAt < event.orderedAt)
}

/**
 * A line with an event that belongs between two of its tail, where its last event is a purchase that
 * overrides it. Null where the event may leave a trace: then the line must be folded again.
 */
export function foldUnder(before: Folding, event: OrderedEvent): Folding | null {
  const { last, store, count, names } = before
  const [first, ...otherNames] = names
  const isBetween = first && compareEvents(first, event) < 0 && compareEvents(event, last) < 0
  const isSameName = first?.name === nameIn(event) && otherNames.length === 0
  const isSameStore = event.store === null || event.store === store
  if (!isBetween || !isSameName || !isSameStore || !overrides(last, event)) return null
  return { ...before, count: count + 1 }
}

/** The same line at a checkpoint, with nothing after it. */
export function atCheckpoint(folding: Folding): Folding {
  return { ...folding, count: 0, names: [] }
}

/** The line in a stored state. */
export function lineIn({ line }: FoldedLine): Line {
  return { ...EMPTY_LINE, ...line }
}

/** A line as it is stored. */
export function toStored({ line, last, store, count, names }: Folding): FoldedLine {
  const known = Object.entries(line).filter(([, value]) => value !== null)
  const tail = { count, names }
  return { line: Object.fromEntries(known), last, ...(store === null ? {} : { store }), tail }
}

/** A stored line, to be folded on. Null for a state of an older program. */
export function fromStored(state: FoldedLine): Folding | null {
  if (state.tail === undefined) return null
  return { line: lineIn(state), last: state.last, store: state.store ?? null, ...state.tail }
}

/** Whether two states are the same line after the same events; how their events are cut does not matter. */
export function isSameState(a: FoldedLine, b: FoldedLine): boolean {
  const essence = ({ line, last, store }: FoldedLine) => JSON.stringify([line, last, store])
  return essence(a) === essence(b)
}

/** The app user id that an event names as the owner. */
export function nameIn({ appUserId, originalAppUserId, aliases }: OrderedEvent): string | null {
  return appUserId ?? originalAppUserId ?? aliases[0] ?? null
}

function orderOf({ orderedAt, purchasedAt, type, id }: EventOrder): EventOrder {
  return { orderedAt, purchasedAt, type, id }
}
