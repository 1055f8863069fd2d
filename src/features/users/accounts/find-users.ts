import type { AccessStatus } from '../../../lib/access-status.ts'
import { chunk } from '../../../lib/concurrency/chunk.ts'
import {
  parseSearchText,
  queriedAddress,
  toEmailKey,
  toEmailPrefix,
} from '../../../lib/text/email-address.ts'
import { type AccountSummary, type Directory, type FoundUsers, PAGE_SIZE } from './directory.ts'
import { isEmpty, type UserFilter } from './user-filter.ts'
import type { UserSearch } from './user-search.ts'

type FindUsersDeps = {
  list: Directory['list']
  listByIds: (ids: string[]) => Promise<AccountSummary[]>
  /** At most one page, and one more if there are more. */
  listByIdPrefix: (prefix: string) => Promise<AccountSummary[]>
  search: UserSearch
  accessOf: (
    ids: string[],
  ) => Promise<(id: string) => { status: AccessStatus; plan: string | null }>
  /** The ids of at most `limit` users whose names have words that begin with those of `text`. */
  idsByName: (text: string, limit: number) => Promise<string[]>
  /** Purchases whose transaction ids begin with `text`, and the ids of their customers or of the customer `text`. */
  findPurchases: (text: string) => Promise<{ customerIds: string[]; purchaseIds: string[] }>
  isEvent: (id: string) => Promise<boolean>
}

export type FindUsers = ReturnType<typeof createFindUsers>

type Query = { after?: string | undefined; limit?: number | undefined; filter?: UserFilter }

type Found = { users: AccountSummary[]; next: string | null } & Partial<Omit<FoundUsers, 'users'>>

const MIN_NAME_LENGTH = 2
const MIN_QUERY_LENGTH = 4
const MAX_NAMED = 50
const MAX_LISTED = 1_000
const ID_PREFIX = /^[0-9a-f-]{4,36}$/

/**
 * Finds users by the beginning of an address, a user id, a transaction id or a word of a name, or by a full app user id
 * or event id.
 */
export function createFindUsers(deps: FindUsersDeps) {
  const { list, listByIds, listByIdPrefix, search, accessOf, idsByName, findPurchases } = deps
  return async (text: string, query: Query = {}): Promise<FoundUsers> => {
    const { filter = {} } = query
    const wanted = queriedAddress(parseSearchText(text))
    const isFiltered = !isEmpty(filter)
    const found =
      wanted === '' && isFiltered ? await listFiltered(query, filter) : await find(wanted, query)
    const ids = found.users.map(({ id }) => id)
    // A search text finds few users, so the filter is applied to them afterwards.
    const kept = new Set(wanted === '' || !isFiltered ? ids : await search.filterIds(filter, ids))
    const access = await accessOf([...kept])
    return {
      unlinkedIds: [],
      purchaseIds: [],
      hasMoreNames: false,
      eventId: null,
      total: null,
      scannedTo: null,
      ...found,
      users: found.users
        .filter(({ id }) => kept.has(id))
        .map((user) => ({ ...user, ...access(user.id) })),
    }
  }

  async function listFiltered({ after, limit = PAGE_SIZE }: Query, filter: UserFilter) {
    const size = Math.min(limit, MAX_LISTED)
    const { ids, next, total, scannedTo } = await search.find(filter, after, size)
    const listed = new Map<string, AccountSummary>()
    for (const batch of chunk(ids, PAGE_SIZE))
      for (const user of await listByIds(batch)) listed.set(user.id, user)
    const [last] = scannedTo === null ? [] : await listByIds([scannedTo.id])
    return {
      users: ids.flatMap((id) => listed.get(id) ?? []),
      next,
      total,
      scannedTo: last ?? null,
    }
  }

  async function find(wanted: string, { after, limit }: Query): Promise<Found> {
    const page = {
      ...(after === undefined ? {} : { after }),
      ...(limit === undefined ? {} : { limit }),
    }
    if (wanted === '') return list({ ...page, count: 'index' })
    const { users, next } = await list({ ...page, emailPrefix: wanted })
    if (after !== undefined || wanted.length < MIN_NAME_LENGTH) return { users, next }
    const namedIds = await idsByName(wanted, MAX_NAMED + 1)
    const hasMoreNames = namedIds.length > MAX_NAMED
    const byName = await listByIds(namedIds.slice(0, MAX_NAMED))
    // Users whose address also matches are on a later page.
    const isLater = ({ email }: AccountSummary) =>
      next !== null && email !== null && toEmailKey(email).startsWith(toEmailPrefix(wanted))
    const usersByName = byName.filter((user) => !isLater(user))
    if (wanted.length < MIN_QUERY_LENGTH)
      return { users: unique([...users, ...usersByName]), next, hasMoreNames }
    const { customerIds: ids, purchaseIds } = await findPurchases(wanted)
    const customers = await listByIds([wanted, ...ids])
    const known = new Set(customers.map(({ id }) => id))
    const unlinkedIds = ids.filter((id) => !known.has(id))
    const byId = ID_PREFIX.test(wanted) ? await listByIdPrefix(wanted) : []
    const found = unique([...customers, ...byId.slice(0, PAGE_SIZE), ...users, ...usersByName])
    const hasMore = hasMoreNames || byId.length > PAGE_SIZE
    const eventId = (await deps.isEvent(wanted)) ? wanted : null
    return { users: found, next, unlinkedIds, purchaseIds, hasMoreNames: hasMore, eventId }
  }
}

function unique(users: AccountSummary[]): AccountSummary[] {
  return [...new Map(users.map((user) => [user.id, user])).values()]
}
