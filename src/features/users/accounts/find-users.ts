import type { AccountSummary, FoundUsers, Page } from './directory.ts'

type FindUsersDeps = {
  list: (page: Page) => Promise<{ users: AccountSummary[]; next: string | null }>
  /** The users with these ids, at most one page of them. */
  listByIds: (ids: string[]) => Promise<AccountSummary[]>
  /**
   * All app user ids of the customers with the app user id `text`, or with a transaction id that
   * begins with `text`.
   */
  customerIdsOf: (text: string) => Promise<string[]>
  /** Whether a billing event has this id. */
  isEvent: (id: string) => Promise<boolean>
}

const MIN_QUERY_LENGTH = 4
const NO_MATCHES = { strangers: [], eventId: null }

/**
 * Finds users by the beginning of an e-mail address or transaction id, or by a full user id, app user id or
 * event id.
 */
export function createFindUsers(deps: FindUsersDeps) {
  const { list, listByIds, customerIdsOf, isEvent } = deps
  return async (text: string, after: string | undefined): Promise<FoundUsers> => {
    const wanted = text.trim()
    const page = { ...(after === undefined ? {} : { after }) }
    if (wanted === '') return { ...(await list(page)), ...NO_MATCHES }
    const { users, next } = await list({ ...page, emailPrefix: wanted })
    if (after !== undefined || wanted.length < MIN_QUERY_LENGTH)
      return { users, next, ...NO_MATCHES }
    const ids = await customerIdsOf(wanted)
    const others = await listByIds([wanted, ...ids])
    const known = new Set(others.map(({ id }) => id))
    const added = others.filter(({ id }) => !users.some((user) => user.id === id))
    const strangers = ids.filter((id) => !known.has(id))
    const eventId = (await isEvent(wanted)) ? wanted : null
    return { users: [...added, ...users], next, strangers, eventId }
  }
}
