import { EMPTY_LINE, type Line } from './fold.ts'
import type { EventOrder } from './line.ts'

/**
 * What `subscriptions.state` holds: the line without what is null in it, and the last event, so that a
 * later one need only be added.
 */
export type FoldedLine = { line: Partial<Line>; last: EventOrder }

/** The line in a stored state. */
export function lineIn({ line }: FoldedLine): Line {
  return { ...EMPTY_LINE, ...line }
}

/** A line as it is stored. */
export function packed(line: Line, last: EventOrder): FoldedLine {
  const known = Object.entries(line).filter(([, value]) => value !== null)
  return { line: Object.fromEntries(known), last: orderOf(last) }
}

function orderOf({ orderedAt, purchasedAt, type, id }: EventOrder): EventOrder {
  return { orderedAt, purchasedAt, type, id }
}
