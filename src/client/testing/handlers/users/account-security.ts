import type { State, User } from '../../state.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import type { Sessions } from './sessions.ts'

type SecurityDeps = { state: State; sessions: Sessions; tokens: OneTimeTokens }

export type AccountSecurity = ReturnType<typeof createAccountSecurity>

/** Secures accounts whose owner changes: ends sessions, removes a stranger's credentials, moves a guest's data. */
export function createAccountSecurity({ state, sessions, tokens }: SecurityDeps) {
  const { users, find, recordChange, mergers } = state
  return { secure, removeUntrusted, mergeGuest, deleteUser }

  /** Ends all of a user's sessions but one, and revokes the tokens that a thief could have requested. */
  function secure(userId: string, keptSession: string | null) {
    sessions.endAll(userId, keptSession)
    tokens.revoke(userId)
    const user = find(userId)
    if (user.twoFactorSince === null) user.hasSecret = false
  }

  /** Removes the credentials that a stranger may have set up before the address was verified. */
  function removeUntrusted(user: User) {
    if (user.emailVerifiedAt !== null) return
    const off = { hasSecret: false, twoFactorSince: null, recoveryCodes: [], identities: [] }
    Object.assign(user, off)
  }

  /** Moves a guest's data to the account that the guest signs in to. */
  function mergeGuest(guestId: string, user: User) {
    const guest = users.get(guestId)
    if (guest?.loginType !== 'guest' || guest === user) return
    user.purchases.push(...guest.purchases)
    for (const merge of mergers) merge(guest, user)
    for (const kind of guest.changes.keys()) recordChange(user.id, kind)
    deleteUser(guest)
  }

  function deleteUser({ id }: User) {
    sessions.endAll(id)
    tokens.remove(id)
    users.delete(id)
  }
}
