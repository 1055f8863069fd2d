import { isId } from '../../../lib/ids.ts'
import { isRealId } from '../inbox/event.ts'
import { compareEvents, type EventOrder, type OrderedEvent } from './event-order.ts'

/** An event that names a different app user id than the previous one, so the owner may have changed. */
export type OwnerMention = EventOrder & {
  name: string
  /** `name` is the id that the app passed to the store at the purchase. It counts until a user claims the purchase. */
  isHint?: boolean
  isSubmission?: boolean
  /** The id of a claim that no longer counts. Such a mention names no owner. */
  withdraws?: string
}

/** The stored customer of a purchase without an owner. */
export const NO_CUSTOMER = ''

type FindCustomer = (appUserId: string) => string

/** A transfer can be limited to purchases with these traits, and never moves granted access. */
type PurchaseTraits = { environment: string; store: string | null; isGrant?: boolean }

export function findOwnerId({
  appUserId,
  originalAppUserId,
  aliases,
}: OrderedEvent): string | null {
  return [appUserId, originalAppUserId, ...aliases].find(isRealId) ?? null
}

/**
 * Replays the owners of a purchase; the last one owns it now. A transfer takes it from its owner at that time, even if
 * delivered earlier. `mentions` must include every change of the id, and the first mention after each transfer.
 */
export function computeOwners(
  mentions: OwnerMention[],
  transfers: OrderedEvent[],
  traits: PurchaseTraits,
  findCustomer: FindCustomer,
): string[] {
  const owners: string[] = []
  let isClaimed = false
  let isSubmitted = false
  /** The owner that the billing provider named last. */
  let provided: string | null = null
  for (const event of [...withoutWithdrawn(mentions), ...transfers].toSorted(compareEvents)) {
    const current = owners.at(-1)
    const mention = 'name' in event ? event : null
    if (mention?.isHint && isClaimed) continue
    // From now on the provider names the destination, even if a user has submitted the purchase since.
    if (mention === null)
      provided = findNewOwner(event as OrderedEvent, provided, traits, findCustomer) ?? provided
    const next =
      'name' in event
        ? findCustomer(event.name)
        : findNewOwner(event, current, traits, findCustomer)
    if (next === null) continue
    if (mention !== null && !mention.isHint && !mention.isSubmission) {
      // The provider repeats the owner that it knew before a user submitted the purchase.
      const isRepeated = isSubmitted && next === provided
      provided = next
      if (isRepeated) continue
    }
    isSubmitted = mention?.isSubmission === true
    if (!mention?.isHint) isClaimed = true
    if (next !== current) owners.push(next)
  }
  return owners
}

/** Apple may still suggest the users of withdrawn claims, so such later suggestions do not count either. */
function withoutWithdrawn(mentions: OwnerMention[]): OwnerMention[] {
  const ids = new Set(mentions.map(({ withdraws }) => withdraws))
  const withdrawn = mentions.filter(({ id }) => ids.has(id))
  return mentions.filter(
    (mention) =>
      mention.withdraws === undefined &&
      !withdrawn.includes(mention) &&
      !withdrawn.some((claim) => mention.isHint && isLaterMention(mention, claim)),
  )
}

function isLaterMention(mention: OwnerMention, claim: OwnerMention): boolean {
  return mention.name === claim.name && compareEvents(claim, mention) < 0
}

/** How the billing provider's own ids begin, for customers who have not signed in. */
const ANONYMOUS = '$RCAnonymousID:'

/** Null if the transfer does not concern the purchase. */
function findNewOwner(
  transfer: OrderedEvent,
  owner: string | null | undefined,
  { environment, store, isGrant }: PurchaseTraits,
  findCustomer: FindCustomer,
): string | null {
  // All ids belong to one customer, but Homeport seldom knows this of anonymous ids or ids of an earlier backend.
  const { transferredTo } = transfer
  const destination =
    transferredTo.find(isId) ??
    transferredTo.find((id) => !id.startsWith(ANONYMOUS)) ??
    transferredTo[0]
  if (isGrant || owner == null || destination === undefined) return null
  if (transfer.hasEnvironment && transfer.environment !== environment) return null
  if (transfer.store !== null && store !== null && transfer.store !== store) return null
  const isFromOwner = transfer.transferredFrom.some((id) => findCustomer(id) === owner)
  return isFromOwner ? findCustomer(destination) : null
}
