import { and, desc, inArray, type SQL, sql } from 'drizzle-orm'
import { yieldToEventLoop } from '../../../lib/concurrency/yield-to-event-loop.ts'
import { invalidField } from '../../../lib/errors.ts'
import { countUpTo } from '../../../platform/db/key-ranges.ts'
import type { UsersDb } from '../schema.ts'
import { toConditions, type UserFilter } from './user-filter.ts'

type AccessFilter = Pick<UserFilter, 'status' | 'plan'>

/** Finds users by what they pay for. */
export type AccessSearch = {
  /** Whether an index covers the filter. */
  isIndexed: (filter: AccessFilter) => boolean
  /** The ids of an indexed filter, in descending order, after `before`. */
  idsBefore: (filter: AccessFilter, before: string | null, limit: number) => Promise<string[]>
  /** How many users an indexed filter has, counting up to `max`. */
  countUpTo: (filter: AccessFilter, max: number) => Promise<number>
  /** Those of the `ids` that match. */
  filterIds: (filter: AccessFilter, ids: string[]) => Promise<Set<string>>
}

type UserSearchDeps = { db: UsersDb; access: AccessSearch }

/** A place in the order of a scan: the user's id, after the value of the column that it is sorted by, if any. */
type Row = { id: string; position: string; isMatch: boolean }

/** One way to find the users of a filter: the rows of an index, of which those that match the rest are kept. */
type Scan = {
  name: string
  countUpTo: (max: number) => Promise<number>
  rowsAfter: (position: string | null, limit: number) => Promise<Row[]>
  isComplete: boolean
}

export type UserSearch = ReturnType<typeof createUserSearch>

/** Rows read in one turn of the event loop, and for one page. */
const ROWS_PER_TURN = 500
const MAX_ROWS_SCANNED = 2_000
const MAX_COUNTED = 1_001
/** The scans that are sorted by a time, and then by id. */
const SORTED_BY: Record<string, 'lastSeenAt' | 'createdAt' | undefined> = {
  seen: 'lastSeenAt',
  created: 'createdAt',
}
/** Indexes with more rows than this count as equally long. */
const MAX_ESTIMATED = 4_000

/** Lists the users that match a filter, by the index that leaves the fewest rows to scan. */
export function createUserSearch({ db, access }: UserSearchDeps) {
  const { users } = db.tables
  return { find, filterIds }

  /**
   * A page of ids. `next` is the `after` of the following page; null on the last page. A page may be short, since it
   * scans at most 2,000 rows: `scannedTo` is then the id of the last one. `total`, on the first page, is how many users
   * match, counted to 1,001 at most; null if that would take longer.
   */
  async function find(filter: UserFilter, after: string | undefined, limit: number) {
    const { scan, position, estimate } = await startOf(filter, after)
    const isFirst = after === undefined
    const size = scan.isComplete ? limit + 1 : ROWS_PER_TURN
    const found: Row[] = []
    let last: Row | undefined
    let isAtEnd = false
    for (let scanned = 0; scanned < MAX_ROWS_SCANNED && !isAtEnd; scanned += size) {
      const rows = await scan.rowsAfter(last?.position ?? position, size)
      found.push(...(await matching(filter, scan, rows)))
      last = rows.at(-1)
      isAtEnd = rows.length < size
      // The count of the first page needs the rest of the scan.
      if (found.length > limit && (!isFirst || scan.isComplete)) break
      await yieldToEventLoop()
    }
    const hasMore = found.length > limit
    const end = hasMore ? found[limit - 1] : isAtEnd ? undefined : last
    const count = scan.isComplete ? estimate : isAtEnd ? found.length : null
    return {
      ids: found.slice(0, limit).map(({ id }) => id),
      next: end === undefined ? null : `${scan.name} ${end.position}`,
      scannedTo: hasMore ? null : (end?.id ?? null),
      total: isFirst ? countShown(count, found.length) : null,
    }
  }

  /** Those of the `ids` that match, in their order. */
  async function filterIds(filter: UserFilter, ids: string[]): Promise<string[]> {
    if (ids.length === 0) return []
    const conditions = toConditions(users, filter).map(({ condition }) => condition)
    const found = await among(ids, and(...conditions))
    const wanted = hasAccessPart(filter) ? await access.filterIds(filter, ids) : found
    return ids.filter((id) => found.has(id) && wanted.has(id))
  }

  /** The scan of a page, and where it starts. `estimate`: how many rows its index has, up to a maximum. */
  async function startOf(filter: UserFilter, after: string | undefined) {
    const scans = scansOf(filter)
    if (after !== undefined) {
      const [name = '', ...position] = after.split(' ')
      const scan = scans.find((one) => one.name === name)
      if (scan === undefined || position.length === 0)
        throw invalidField('after', 'must be `next` from the previous page')
      return { scan, position: position.join(' '), estimate: null }
    }
    const [only] = scans
    const counts = await Promise.all(scans.map(({ countUpTo }) => countUpTo(MAX_ESTIMATED)))
    const estimate = Math.min(...counts)
    return { scan: scans[counts.indexOf(estimate)] ?? (only as Scan), position: null, estimate }
  }

  function scansOf(filter: UserFilter): Scan[] {
    const conditions = toConditions(users, filter)
    const restOf = (name: string) =>
      and(...conditions.flatMap((one) => (one.name === name ? [] : [one.condition])))
    const scans = conditions.map(({ name, condition }) =>
      scanOfUsers(name, condition, restOf(name), !hasAccessPart(filter)),
    )
    if (access.isIndexed(filter)) return [scanOfAccess(filter, restOf('')), ...scans]
    return scans.length > 0 ? scans : [scanOfUsers('all', undefined, undefined, false)]
  }

  /** Scans the users with `condition`, which has an index. */
  function scanOfUsers(
    name: string,
    condition: SQL | undefined,
    rest: SQL | undefined,
    hasAllConditions: boolean,
  ): Scan {
    const sortedBy = SORTED_BY[name]
    const order = sortedBy === undefined ? [] : [desc(users[sortedBy])]
    return {
      name,
      countUpTo: countRows,
      rowsAfter,
      isComplete: rest === undefined && hasAllConditions,
    }

    async function countRows(max: number) {
      // Without a condition, the scan has no competitor.
      return condition === undefined ? max : countUpTo(db.read, users, users.id, condition, max)
    }

    async function rowsAfter(position: string | null, limit: number): Promise<Row[]> {
      const rows = await db.read
        .select({
          id: users.id,
          createdAt: users.createdAt,
          lastSeenAt: users.lastSeenAt,
          isMatch: rest === undefined ? sql`true` : sql`${rest}`,
        })
        .from(users)
        .where(and(condition, position === null ? undefined : isBehind(position, sortedBy)))
        .orderBy(...order, desc(users.id))
        .limit(limit)
      return rows.map(({ id, isMatch, ...times }) => ({
        id,
        position: sortedBy === undefined ? id : `${times[sortedBy].getTime()} ${id}`,
        isMatch: Boolean(isMatch),
      }))
    }
  }

  function isBehind(position: string, sortedBy: 'lastSeenAt' | 'createdAt' | undefined): SQL {
    if (sortedBy === undefined) return sql`${users.id} < ${position}`
    const [value = '', id = ''] = position.split(' ')
    return sql`(${users[sortedBy]}, ${users.id}) < (${Number(value) || 0}, ${id})`
  }

  /** Scans the users of the filter's access, which has an index. */
  function scanOfAccess(filter: UserFilter, rest: SQL | undefined): Scan {
    return {
      name: 'access',
      countUpTo: (max) => access.countUpTo(filter, max),
      isComplete: rest === undefined,
      async rowsAfter(position, limit) {
        const ids = await access.idsBefore(filter, position, limit)
        const matches = await among(ids, rest)
        return ids.map((id) => ({ id, position: id, isMatch: matches.has(id) }))
      },
    }
  }

  /**
   * Those of the `ids` that match the condition. `coalesce` hides it from indexes: PostgreSQL may read one with hundreds
   * of thousands of rows, instead of the few users.
   */
  async function among(ids: string[], condition: SQL | undefined): Promise<Set<string>> {
    if (condition === undefined || ids.length === 0) return new Set(ids)
    const rows = await db.read
      .select({ id: users.id })
      .from(users)
      .where(and(inArray(users.id, ids), sql`coalesce(${condition}, false)`))
    return new Set(rows.map(({ id }) => id))
  }

  /** The rows that match the whole filter. */
  async function matching(filter: UserFilter, scan: Scan, rows: Row[]): Promise<Row[]> {
    const matches = rows.filter(({ isMatch }) => isMatch)
    if (matches.length === 0 || scan.name === 'access' || !hasAccessPart(filter)) return matches
    const ids = matches.map(({ id }) => id)
    const found = await access.filterIds(filter, ids)
    return matches.filter(({ id }) => found.has(id))
  }
}

function hasAccessPart({ status, plan }: UserFilter): boolean {
  return status !== undefined || plan !== undefined
}

/** A count up to 1,001; null if only `found` are known and there may be more. */
function countShown(count: number | null, found: number): number | null {
  const known = Math.max(count ?? 0, found)
  return count === null && known < MAX_COUNTED ? null : Math.min(known, MAX_COUNTED)
}
