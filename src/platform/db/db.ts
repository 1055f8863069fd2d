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
  /** Keeps a value that is read often and seldom changes in memory; `name` tells it from others. */
  cached: <T>(name: string, load: (from: Reader) => Promise<T>) => Cached<T>
}

export type Cached<T> = {
  /** The value, the same object until it changes. A change by another instance is seen within a second. */
  read: () => Promise<T>
  /**
   * The value as a change must see it, whoever has changed it. Only for what never turns back: a change that saw it may
   * yet be undone.
   */
  readIn: (tx: Tx) => Promise<T>
  /** Has the value loaded again after the change that it is told of in. */
  changed: (tx: Tx) => Promise<void>
}

/** The data layer with what its process has to do. */
export type OpenDb<Tables> = Db<Tables> & {
  /** The path of the database or the URL of its server, without a password. */
  place: string
  /** In bytes. */
  size(): Promise<number>
  /** Several instances may work on the data at once. */
  isShared: boolean
  /** Whether it is for this instance to run the timer that is due at `slot`: for one of them it is. */
  claimTimer(name: string, slot: Date): Promise<boolean>
  /** By how many ms `wall` is ahead of the clock of the database's server; null where there is no server. */
  clockSkew(wall: () => number): Promise<number | null>
  writeStats(): WriteStats
  /** Resolves when the disk could not keep what was written: nothing is taken from then on. */
  diskFailure: Promise<'disk'>
  /** Whether a change would get through. */
  isWritable(): Promise<boolean>
  /** Frees the pages that are kept in memory; they are read again when they are needed. */
  dropCaches(): void
  /** Has the log of the database emptied soon: until then it holds what was deleted. */
  emptyLog(): Promise<void>
  /** Refuses further changes and waits for those under way. */
  stopWriting(reason: unknown): Promise<void>
  close(): void | Promise<void>
}

/** Changes that wait now; commits, and changes in them, since the start. */
export type WriteStats = { waiting: number; commits: number; changes: number }
