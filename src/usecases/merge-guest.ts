import type { Tx } from '../platform/db/db.ts'

/** What each feature does when a guest turns out to be somebody we know. */
type MergeGuestDeps = {
  moveAttachments: (tx: Tx, from: string, to: string) => Promise<void>
  joinBillingIds: (tx: Tx, from: string, to: string) => Promise<void>
  removeUser: (tx: Tx, userId: string) => Promise<void>
}

/** Gives what a guest has to another user, as part of the change; the guest goes. */
export function createMergeGuest(deps: MergeGuestDeps) {
  const { moveAttachments, joinBillingIds, removeUser } = deps
  return async (tx: Tx, guestId: string, userId: string) => {
    await moveAttachments(tx, guestId, userId)
    await joinBillingIds(tx, guestId, userId)
    await removeUser(tx, guestId)
  }
}
