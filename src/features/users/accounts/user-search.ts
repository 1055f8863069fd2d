import { and, inArray, type SQL, sql } from 'drizzle-orm'
import { findPage, type Source } from '../../../platform/lists/find-page.ts'
import { createSources } from '../../../platform/lists/sources.ts'
import type { UsersDb } from '../schema.ts'
import { toConditions, type UserFilter } from './user-filter.ts'

type AccessFilter = Pick<UserFilter, 'status' | 'plan'>

export type AccessSearch = {
  isIndexed: (filter: AccessFilter) => boolean
  /** In descending order. */
  idsBefore: (filter: AccessFilter, before: string | null, limit: number) => Promise<string[]>
  /** Counts up to `max`. */
  countUpTo: (filter: AccessFilter, max: number) => Promise<number>
  filterIds: (filter: AccessFilter, ids: string[]) => Promise<Set<string>>
}

type UserSearchDeps = { db: UsersDb; access: AccessSearch }

type Row = { id: string }

export type UserSearch = ReturnType<typeof createUserSearch>

const MAX_ROWS_SCANNED = 2_000

/** Lists the users that match a filter, by the index that leaves the fewest rows to scan. */
export function createUserSearch({ db, access }: UserSearchDeps) {
  const { users } = db.tables
  return { find, filterIds }

  /** A page of ids. The page may be short, because at most 2,000 users are scanned. */
  async function find(filter: UserFilter, after: string | undefined, limit: number) {
    const maxScanned = MAX_ROWS_SCANNED
    const sources = listSources(filter)
    const page = await findPage({ sources, after, limit, maxScanned, count: 'scan' })
    return { ...page, ids: page.rows.map(({ id }) => id) }
  }

  /** Keeps the order of `ids`. */
  async function filterIds(filter: UserFilter, ids: string[]): Promise<string[]> {
    if (ids.length === 0) return []
    const conditions = toConditions(users, filter).map(({ where }) => where)
    const found = await filterAmong(ids, and(...conditions))
    const wanted = hasAccessPart(filter) ? await access.filterIds(filter, ids) : found
    return ids.filter((id) => found.has(id) && wanted.has(id))
  }

  function listSources(filter: UserFilter): Source<Row>[] {
    const conditions = toConditions(users, filter)
    const sources = createSources(
      {
        read: db.read,
        table: users,
        key: users.id,
        columns: { id: users.id, createdAt: users.createdAt, lastSeenAt: users.lastSeenAt },
        isDescending: true,
        keep: hasAccessPart(filter) ? (rows) => keepWithAccess(filter, rows) : undefined,
      },
      conditions,
    )
    if (!access.isIndexed(filter)) return sources
    const rest = and(...conditions.map(({ where }) => where))
    return [createAccessSource(filter, rest), ...sources.filter(({ name }) => name !== 'all')]
  }

  async function keepWithAccess<User extends Row>(
    filter: UserFilter,
    rows: User[],
  ): Promise<User[]> {
    const ids = rows.map(({ id }) => id)
    const kept = await access.filterIds(filter, ids)
    return rows.filter(({ id }) => kept.has(id))
  }

  /** Reads users by the index of the access filter. */
  function createAccessSource(filter: UserFilter, rest: SQL | undefined): Source<Row> {
    return {
      name: 'access',
      isComplete: rest === undefined,
      countUpTo: (max) => access.countUpTo(filter, max),
      async read(position, limit) {
        const ids = await access.idsBefore(filter, position, limit)
        const kept = await filterAmong(ids, rest)
        const entries = ids.map((id) => ({ row: { id }, position: id }))
        return {
          matches: entries.filter(({ row }) => kept.has(row.id)),
          last: entries.at(-1),
          isAtEnd: ids.length < limit,
        }
      },
    }
  }

  /** `coalesce` hides the condition from indexes: PostgreSQL might choose one with hundreds of thousands of rows. */
  async function filterAmong(ids: string[], condition: SQL | undefined): Promise<Set<string>> {
    if (condition === undefined || ids.length === 0) return new Set(ids)
    const rows = await db.read
      .select({ id: users.id })
      .from(users)
      .where(and(inArray(users.id, ids), sql`coalesce(${condition}, false)`))
    return new Set(rows.map(({ id }) => id))
  }
}

function hasAccessPart({ status, plan }: UserFilter): boolean {
  return status !== undefined || plan !== undefined
}
