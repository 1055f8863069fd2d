import type { AccountSummary, FoundUsers, Page } from './directory.ts'

type FindUsersDeps = {
  list: (page: Page) => Promise<{ users: AccountSummary[]; next: string | null }>
  /** The users with these ids, at most one page of them. */
  listByIds: (ids: string[]) => Promise<AccountSummary[]>
  /** The users whose ids begin with a text, at most one page of them. */
  listByIdPrefix: (prefix: string) => Promise<AccountSummary[]>
  /** The ids of at most `limit` users whose names have words that begin with those of `text`. */
  idsByName: (text: string, limit: number) => Promise<string[]>
  /**
   * All app user ids of the customers with the app user id `text`, or with a transaction id that
   * begins with `text`.
   */
  customerIdsOf: (text: string) => Promise<string[]>
  /** Whether a billing event has this id. */
  isEvent: (id: string) => Promise<boolean>
}

const MIN_NAME_LENGTH = 2
const MIN_QUERY_LENGTH = 4
const MAX_NAMED = 50
const ID_PREFIX = /^[0-9a-f-]{4,36}$/
const NO_MATCHES = { strangers: [], hasMoreNames: false, eventId: null }

/**
 * Finds users by the beginning of an e-mail address, a user id, a transaction id or the words of a name, or by a
 * full app user id or event id.
 */
export function createFindUsers(deps: FindUsersDeps) {
  const { list, listByIds, listByIdPrefix, idsByName, customerIdsOf, isEvent } = deps
  return async (text: string, after: string | undefined): Promise<FoundUsers> => {
    const wanted = text.trim()
    const page = { ...(after === undefined ? {} : { after }) }
    if (wanted === '') return { ...(await list(page)), ...NO_MATCHES }
    const { users, next } = await list({ ...page, emailPrefix: wanted })
    if (after !== undefined || wanted.length < MIN_NAME_LENGTH)
      return { users, next, ...NO_MATCHES }
    const namedIds = await idsByName(wanted, MAX_NAMED + 1)
    const hasMoreNames = namedIds.length > MAX_NAMED
    const named = await listByIds(namedIds.slice(0, MAX_NAMED))
    if (wanted.length < MIN_QUERY_LENGTH)
      return { users: unique([...users, ...named]), next, ...NO_MATCHES, hasMoreNames }
    const ids = await customerIdsOf(wanted)
    const customers = await listByIds([wanted, ...ids])
    const known = new Set(customers.map(({ id }) => id))
    const strangers = ids.filter((id) => !known.has(id))
    const byId = ID_PREFIX.test(wanted) ? await listByIdPrefix(wanted) : []
    const found = unique([...customers, ...byId, ...users, ...named])
    const eventId = (await isEvent(wanted)) ? wanted : null
    return { users: found, next, strangers, hasMoreNames, eventId }
  }
}

function unique(users: AccountSummary[]): AccountSummary[] {
  return [...new Map(users.map((user) => [user.id, user])).values()]
}
