import type { Naming } from '../projection/folding.ts'
import { compareEvents, type OrderedEvent } from './event-order.ts'

/** The customer that an app user id belongs to. */
type CustomerOf = (appUserId: string) => string

/** Who had a line, in order; the last one has it now. */
type Holders = string[]

/** What of a line a transfer asks for. */
type Traits = { environment: string; store: string | null }

/**
 * Replays who held a line: the owner changes where another id is named, and a transfer takes the line from
 * whoever has it then, also when the purchase is delivered later than the transfer. `namings` are all
 * events at which the id changes, and at least the first event after each transfer.
 */
export function holdersOf(
  namings: Naming[],
  transfers: OrderedEvent[],
  traits: Traits,
  customerOf: CustomerOf,
): Holders {
  const holders: Holders = []
  const steps = [...namings, ...transfers].toSorted(compareEvents)
  for (const one of steps) {
    const current = holders.at(-1)
    const next = 'name' in one ? customerOf(one.name) : movedTo(one, current, traits, customerOf)
    if (next !== null && next !== current) holders.push(next)
  }
  return holders
}

function movedTo(
  transfer: OrderedEvent,
  holder: string | undefined,
  { environment, store }: Traits,
  customerOf: CustomerOf,
): string | null {
  const [destination] = transfer.transferredTo
  if (holder === undefined || destination === undefined) return null
  if (transfer.hasEnvironment && transfer.environment !== environment) return null
  if (transfer.store !== null && store !== null && transfer.store !== store) return null
  const isFromHolder = transfer.transferredFrom.some((id) => customerOf(id) === holder)
  return isFromHolder ? customerOf(destination) : null
}
