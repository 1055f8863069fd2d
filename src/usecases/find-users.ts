import type { AccountSummary, FoundUsers, Page } from '../features/users/accounts/directory.ts'

type FindUsersDeps = {
  listUsers: (page: Page) => Promise<{ users: AccountSummary[]; next: string | null }>
  /** Those of `ids` that are users, at most a page. */
  usersOf: (ids: string[]) => Promise<AccountSummary[]>
  /** The app user ids of the customer that an app user id, or the beginning of a transaction id, belongs to. */
  customerIdsOf: (text: string) => Promise<string[]>
  /** Whether there is a billing event of an id. */
  isEvent: (id: string) => Promise<boolean>
}

const LEAST = 4
const NOTHING = { strangers: [], eventId: null }

/**
 * Finds users by whatever an operator has at hand: the beginning of an e-mail address, an id of ours, an app user id,
 * the beginning of a transaction id, or the id of an event.
 */
export function createFindUsers(deps: FindUsersDeps) {
  const { listUsers, usersOf, customerIdsOf, isEvent } = deps
  return async (text: string, after: string | undefined): Promise<FoundUsers> => {
    const wanted = text.trim()
    const page = { ...(after === undefined ? {} : { after }) }
    if (wanted === '') return { ...(await listUsers(page)), ...NOTHING }
    const { users, next } = await listUsers({ ...page, emailPrefix: wanted })
    if (after !== undefined || wanted.length < LEAST) return { users, next, ...NOTHING }
    const ids = await customerIdsOf(wanted)
    const others = await usersOf([wanted, ...ids])
    const known = new Set(others.map(({ id }) => id))
    const added = others.filter(({ id }) => !users.some((one) => one.id === id))
    const strangers = ids.filter((id) => !known.has(id))
    const eventId = (await isEvent(wanted)) ? wanted : null
    return { users: [...added, ...users], next, strangers, eventId }
  }
}
