import { compareEvents, type OrderedEvent } from './line.ts'

/** The customer that an app user id belongs to. */
export type CustomerOf = (appUserId: string) => string

/** Who had a line, in order; the last one has it now. */
export type Holders = string[]

/**
 * Replays who held a line: each event names its customer, and a transfer takes the line from whoever has
 * it then, also when the purchase is delivered later than the transfer.
 */
export function holdersOf(
  events: OrderedEvent[],
  transfers: OrderedEvent[],
  customerOf: CustomerOf,
): Holders {
  const holders: Holders = []
  const ordered = events.toSorted(compareEvents)
  const [first] = ordered
  const line = { environment: first?.environment, store: ordered.find(({ store }) => store)?.store }
  for (const event of [...events, ...transfers].toSorted(compareEvents)) {
    const current = holders.at(-1)
    const next =
      event.type === 'TRANSFER'
        ? movedTo(event, current, line, customerOf)
        : named(event, customerOf)
    if (next !== null && next !== current) holders.push(next)
  }
  return holders
}

function named({ appUserId, originalAppUserId, aliases }: OrderedEvent, customerOf: CustomerOf) {
  const id = appUserId ?? originalAppUserId ?? aliases[0]
  return id === undefined ? null : customerOf(id)
}

function movedTo(
  transfer: OrderedEvent,
  holder: string | undefined,
  line: { environment: string | undefined; store: string | null | undefined },
  customerOf: CustomerOf,
): string | null {
  const [destination] = transfer.transferredTo
  if (holder === undefined || destination === undefined) return null
  if (transfer.hasEnvironment && transfer.environment !== line.environment) return null
  if (transfer.store !== null && line.store && transfer.store !== line.store) return null
  const isFromHolder = transfer.transferredFrom.some((id) => customerOf(id) === holder)
  return isFromHolder ? customerOf(destination) : null
}
