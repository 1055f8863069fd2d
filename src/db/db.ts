import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite'

type Queries = BunSQLiteDatabase

/** What reads from the last commit or from inside a change. */
export type Reader = Pick<Queries, 'select' | 'selectDistinct' | '$count'>

/** A change under way: all of its queries, and those of the functions it calls, go through this. */
export type Tx = Pick<
  Queries,
  'select' | 'selectDistinct' | 'insert' | 'update' | 'delete' | '$count'
> & {
  /** Runs a part that may fail alone: then only that part is undone, and its error is returned, else null. */
  attempt: (work: () => Promise<void>) => Promise<unknown>
  /** Runs `effect` once the change is committed; never when it, or the attempt around, is undone. */
  afterCommit: (effect: () => void) => void
}

/** A query that was prepared once, to be run as part of any change. */
export type Prepared<Q> = (tx: Tx) => Q

/** The whole data layer as features see it, whichever engine is below. */
export type Db<Tables> = {
  tables: Tables
  /** Selects from the last commit. Prepare hot queries once; end each with `await ….execute()`. */
  read: Reader
  /**
   * Runs a change durably: when the promise resolves, the change survives a power cut. Throws what `work`
   * throws; the change is then undone, others of the same commit are not.
   */
  write: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>
  /** Prepares a query of changes once. */
  prepareWrite: <Q>(build: (tx: Tx) => { prepare(): Q }) => Prepared<Q>
}
