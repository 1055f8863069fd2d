import type { BillingEvent } from '../../src/features/billing/inbox/event.ts'

export type LoggedEvent = BillingEvent & { orderedAt: number }

const PURCHASE_TYPES = [
  'INITIAL_PURCHASE RENEWAL NON_RENEWING_PURCHASE TEMPORARY_ENTITLEMENT_GRANT',
  'SUBSCRIPTION_EXTENDED REFUND_REVERSED UNCANCELLATION',
  'PRODUCT_CHANGE',
  'BILLING_ISSUE',
  'SUBSCRIPTION_PAUSED',
  'CANCELLATION',
  'EXPIRATION',
  'TRANSFER',
].map((types) => types.split(' '))

/**
 * A naive second implementation of the rules in `docs/billing.md`. It shares no code with the
 * server, and computes each user's active entitlements per environment at `now` from the whole log.
 */
export function accessByModel(
  log: LoggedEvent[],
  users: string[],
  now: number,
): Record<string, string[]> {
  const usable = log.filter(isUsable)
  const sorted = [...usable].sort((a, b) => compareEvents(a, b))
  const groups = identityGroups(usable)
  const groupOf = (id: string) => groups.find((group) => group.has(id)) ?? new Set([id])
  const purchases = new Map<string, LoggedEvent[]>()
  for (const event of sorted) {
    if (event.type === 'TRANSFER' || !isAboutPurchase(event)) continue
    const key = `${event.environment}/${event.originalTransactionId}`
    purchases.set(key, [...(purchases.get(key) ?? []), event])
  }
  const result: Record<string, string[]> = {}
  for (const user of users) {
    for (const environment of ['PRODUCTION', 'SANDBOX']) {
      const userPurchases = [...purchases].filter(
        ([key, events]) =>
          key.startsWith(environment) && ownerGroup(events, sorted, groupOf)?.has(user),
      )
      const active = userPurchases.filter(([, events]) => accessEndsAt(events) > now)
      const names = active.flatMap(([, events]) => grantedEntitlements(events))
      result[`${user} ${environment}`] = [...new Set(names)].sort()
    }
  }
  return result
}

/** An event that sets the end of a subscription needs one, and a purchase needs a product and a user. */
function isUsable({ type, expiresAt, appUserId }: LoggedEvent) {
  const setsEnd = ['INITIAL_PURCHASE', 'RENEWAL', 'SUBSCRIPTION_EXTENDED'].includes(type)
  return (expiresAt !== null || !setsEnd) && (appUserId !== null || type === 'TRANSFER')
}

function isAboutPurchase({ type }: LoggedEvent) {
  return PURCHASE_TYPES.flat().includes(type)
}

function compareEvents(a: LoggedEvent, b: LoggedEvent) {
  const rank = (event: LoggedEvent) =>
    PURCHASE_TYPES.findIndex((types) => types.includes(event.type))
  if (a.orderedAt !== b.orderedAt) return a.orderedAt < b.orderedAt ? -1 : 1
  if ((a.purchasedAt ?? 0) !== (b.purchasedAt ?? 0))
    return (a.purchasedAt ?? 0) < (b.purchasedAt ?? 0) ? -1 : 1
  if (rank(a) !== rank(b)) return rank(a) < rank(b) ? -1 : 1
  return a.id < b.id ? -1 : 1
}

/** Ids that share an event are one group; groups that share an id are joined. */
function identityGroups(log: LoggedEvent[]): Set<string>[] {
  let groups = log
    .filter((event) => event.type !== 'TRANSFER')
    .map((event) => new Set(realIds([event.appUserId, event.originalAppUserId, ...event.aliases])))
  for (let changed = true; changed; ) {
    changed = false
    const joined: Set<string>[] = []
    for (const group of groups) {
      const other = joined.find((one) => [...group].some((id) => one.has(id)))
      if (other) {
        for (const id of group) other.add(id)
        changed = true
      } else joined.push(new Set(group))
    }
    groups = joined
  }
  return groups
}

function realIds(ids: (string | null)[]) {
  return ids.filter((id) => id !== null && id !== 'Anonymous') as string[]
}

function ownerGroup(
  events: LoggedEvent[],
  log: LoggedEvent[],
  groupOf: (id: string) => Set<string>,
) {
  let owner: Set<string> | null = null
  for (const event of log) {
    const [name] = realIds([event.appUserId, event.originalAppUserId, ...event.aliases])
    if (events.includes(event) && name !== undefined) owner = groupOf(name)
    if (event.type !== 'TRANSFER' || owner === null) continue
    const [first] = events
    const store = events.find((one) => one.store !== null)?.store
    if (event.store && store && event.store !== store) continue
    if (event.hasEnvironment && event.environment !== first?.environment) continue
    const holder: Set<string> = owner
    const isSource = realIds(event.transferredFrom).some((id) =>
      [...groupOf(id)].some((one) => holder.has(one)),
    )
    const [destination] = realIds(event.transferredTo)
    if (isSource && destination) owner = groupOf(destination)
  }
  return owner
}

/**
 * The last purchase event, or else the first event, determines the entitlements. An event about a period that had ended
 * when the current one began does not count.
 */
function lastPurchaseEvent(events: LoggedEvent[]): LoggedEvent {
  let current = events[0] as LoggedEvent
  for (const event of events) {
    if (PURCHASE_TYPES[0]?.includes(event.type) && !isAboutEndedPeriod(event, current))
      current = event
  }
  return current
}

function isAboutEndedPeriod({ purchasedAt, expiresAt }: LoggedEvent, current: LoggedEvent) {
  const start = current.purchasedAt
  if (start === null || purchasedAt === null || expiresAt === null) return false
  return purchasedAt < start && expiresAt <= start + 3_600_000
}

function eventsSincePurchase(events: LoggedEvent[]): LoggedEvent[] {
  const current = lastPurchaseEvent(events)
  return events
    .slice(events.indexOf(current))
    .filter((event) => event === current || !isAboutEndedPeriod(event, current))
}

/** Excludes events about an earlier period, which began more than an hour before the current one. */
function eventsOfCurrentPeriod(events: LoggedEvent[]): LoggedEvent[] {
  const start = lastPurchaseEvent(events).purchasedAt
  return eventsSincePurchase(events).filter(
    ({ purchasedAt }) => start === null || purchasedAt === null || purchasedAt >= start - 3_600_000,
  )
}

function grantedEntitlements(events: LoggedEvent[]): string[] {
  let names = lastPurchaseEvent(events).entitlementIds
  for (const event of eventsOfCurrentPeriod(events)) {
    if (event.type === 'REFUND_REVERSED' && event.entitlementIds.length > 0)
      names = event.entitlementIds
  }
  return names
}

function accessEndsAt(events: LoggedEvent[]): number {
  const start = lastPurchaseEvent(events)
  const withoutEnd =
    start.type === 'NON_RENEWING_PURCHASE'
      ? Number.POSITIVE_INFINITY
      : (start.purchasedAt ?? start.orderedAt)
  let date = start.expiresAt ?? withoutEnd
  let grace = 0
  let cutoff = Number.POSITIVE_INFINITY
  const current = eventsOfCurrentPeriod(events)
  for (const event of eventsSincePurchase(events)) {
    const isCurrent = current.includes(event)
    const isOld =
      start.purchasedAt !== null &&
      event.purchasedAt !== null &&
      event.purchasedAt < start.purchasedAt
    const reason = event.cancelReason
    if (event.type === 'BILLING_ISSUE' && isCurrent) {
      date = Math.max(date, event.expiresAt ?? 0)
      grace = event.graceExpiresAt ?? 0
    }
    if (event.type === 'SUBSCRIPTION_EXTENDED') date = Math.max(date, event.expiresAt ?? 0)
    if (event.type === 'REFUND_REVERSED' && isCurrent) {
      date = event.expiresAt ?? date
      cutoff = Number.POSITIVE_INFINITY
    }
    if (event.type === 'CANCELLATION' && !isOld) {
      if (reason === 'CUSTOMER_SUPPORT')
        cutoff = Math.min(event.orderedAt, event.expiresAt ?? event.orderedAt)
      else if (reason !== 'BILLING_ERROR') date = event.expiresAt ?? date
    }
    if (event.type === 'EXPIRATION' && !isOld) cutoff = Math.min(cutoff, event.orderedAt)
  }
  return Math.min(Math.max(date, grace), cutoff)
}
