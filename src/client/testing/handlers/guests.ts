import type { State, User } from '../state.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import type { Sessions } from './sessions.ts'

type GuestDeps = { state: State; sessions: Sessions; tokens: OneTimeTokens }

export type MergeGuest = ReturnType<typeof createGuestMerging>['mergeGuest']

/** Deletes accounts, and moves a guest's data to the account that the guest signs in to. */
export function createGuestMerging({ state, sessions, tokens }: GuestDeps) {
  const { users, recordChange, clock } = state
  return { mergeGuest, deleteUser }

  function mergeGuest(guestId: string, user: User) {
    const guest = users.get(guestId)
    if (guest?.loginType !== 'guest' || guest === user) return
    user.files.push(...guest.files)
    user.purchases.push(...guest.purchases)
    for (const author of ['app', 'server'] as const) {
      const own = user.documents[author]
      const { content, updatedAt } = guest.documents[author]
      if (updatedAt === null) continue
      const merged = { ...content, ...own.content }
      user.documents[author] = { content: merged, updatedAt: clock.now }
    }
    for (const { name, startsAt, used } of guest.used) {
      const own = user.used.find((one) => one.name === name && one.startsAt === startsAt)
      if (own) own.used += used
      else user.used.push({ name, startsAt, used })
    }
    for (const kind of guest.changes.keys()) recordChange(user.id, kind)
    deleteUser(guest)
  }

  function deleteUser({ id }: User) {
    sessions.endAll(id)
    tokens.remove(id)
    users.delete(id)
  }
}
