import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'

export type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
export type { SelectedFields, SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'

type Queries = BunSQLiteDatabase

/** Reads from the last commit, or from inside a change. */
export type Reader = Pick<Queries, 'select' | 'selectDistinct' | '$count'>

type Builders = Reader & Pick<Queries, 'insert' | 'update' | 'delete'>

/** An open transaction. A change, and every function that it calls, queries through it. */
export type Tx = Builders & {
  /** Runs a part whose failure rolls back only that part. Returns its error, or null on success. */
  attempt: (work: () => Promise<void>) => Promise<unknown>
  /**
   * Runs once per `key`, at the end of the change. It must read only from `tx`: the attempt that added it may have been
   * rolled back.
   */
  beforeCommit: (key: string, work: (tx: Tx) => Promise<void>) => void
  /** Runs `effect` after the commit; never when the change, or the attempt around it, is rolled back. */
  afterCommit: (effect: () => void) => void
}

export type Prepared<Q> = (tx: Tx) => Q

/** The data layer as features see it, on either engine. */
export type Db<Tables> = {
  tables: Tables
  /** Selects from the last commit. Prepare hot queries once; end each with `await ….execute()`. */
  read: Reader
  /** Durable once the promise resolves. When `work` throws, only this change is rolled back, not others in its commit. */
  write: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>
  /** Call it between batches of background work: lets requests go first, and waits while the database's log is long. */
  pauseBatches: () => Promise<void>
  prepareWrite: <Q>(build: (tx: Tx) => { prepare(): Q }) => Prepared<Q>
  /** The number of rows of a table whose rows are never deleted. */
  countAppended: (table: SQLiteTable) => Promise<number>
  /** Caches a value that is read often and changes rarely, under a unique `name`. */
  cached: <T>(name: string, load: (from: Reader) => Promise<T>) => Cached<T>
}

/** How long an instance may use a cached value that another one has changed. */
export const CACHE_LIFETIME_MS = 1_000
/** After this time, every instance uses a changed value. */
export const AFTER_CACHES_MS = CACHE_LIFETIME_MS + 100

export type Cached<T> = {
  /** The value: the same object until it changes. Another instance's change is seen within `CACHE_LIFETIME_MS`. */
  read: () => Promise<T>
  /** Only for values that never change back: the change that cached the value may be rolled back. */
  readWithin: (tx: Tx) => Promise<T>
  /** Takes effect when `tx` commits. */
  invalidate: (tx: Tx) => Promise<void>
}

/** The data layer as the process that opened it sees it. */
export type OpenDb<Tables> = Db<Tables> & {
  /** The path of the database or the URL of its server, without a password. */
  place: string
  /** Returns an id of the database in its place: a copy has a different one. */
  identify(): Promise<string>
  /** In bytes. */
  size(): Promise<number>
  /** Whether several instances may use the data at once. */
  isShared: boolean
  /** Whether this instance runs the job due at `slot`; true on exactly one instance. */
  claimJob(name: string, slot: Date): Promise<boolean>
  /** How far `wall` is ahead of the database server's clock, in ms; null if there is no server. */
  clockSkew(wall: () => number): Promise<number | null>
  writeStats(): WriteStats
  /** Resolves when the disk has failed to keep written data; changes are refused from then on. */
  diskFailure: Promise<'disk'>
  /** A sentence for the operator when files of the database were moved, replaced or removed; null otherwise. */
  describeMisplaced(): string | null
  /** Throws an error with the reason when no change can be committed now. */
  probe(): Promise<unknown>
  /**
   * Runs unprepared selects in another thread. Not for a server. If it fails, `onError` is called and this thread runs
   * them.
   */
  readInBackground(onError: (message: string) => void): void
  /** Frees cached pages; they are read again on demand. */
  dropCaches(): void
  /** Schedules the database's log to be emptied soon, because it still contains deleted data. */
  emptyLog(): Promise<void>
  /** Refuses further changes and waits for those under way. */
  stopWriting(reason: unknown): Promise<void>
  close(): void | Promise<void>
}

/** Changes waiting now; commits and committed changes since the start. */
export type WriteStats = { waiting: number; commits: number; changes: number }

/** The query builders of a change, bound so that they can be spread into a `Tx`. */
export function createBuilders(queries: Builders): Builders {
  return {
    select: queries.select.bind(queries),
    selectDistinct: queries.selectDistinct.bind(queries),
    insert: queries.insert.bind(queries),
    update: queries.update.bind(queries),
    delete: queries.delete.bind(queries),
    $count: queries.$count.bind(queries),
  }
}
