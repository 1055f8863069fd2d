import { and, desc, eq, lt } from 'drizzle-orm'
import { AppError } from '../../lib/errors.ts'
import { type Difference, differencesBetween } from '../../lib/text/differences.ts'
import type { Reader, Tx } from '../db/db.ts'
import type { PublicationsDb } from './schema.ts'

/** The author and the reason. `base` is the version that was edited; without it, any current version is accepted. */
export type Publishing = { author: string | null; note: string; base?: number | undefined }

/** The default, for commands. */
const BY_COMMAND: Publishing = { author: null, note: '' }

export type Publication = {
  version: number
  author: string | null
  note: string
  publishedAt: string
  differences: Difference[]
}

/** What a change published as `version`, and the previous content. */
export type Change<Content> = { version: number; before: Content; content: Content }

type PublishedDeps<Content> = {
  db: PublicationsDb
  now: () => Date
  /** `settings`, `plans`, `faqs` or `emails`. */
  kind: string
  /** Validates edited content and returns it as it is stored. Throws `validation_failed`. */
  check: (edited: unknown, before: Content) => Content
  /** Replaces the stored content, and updates what depends on it. */
  store: (tx: Tx, content: Content) => Promise<void>
} & (
  | { load: (from: Reader) => Promise<Content> }
  /** Content that is stored only as versions; `initial` applies before the first one. */
  | { initial: Content }
)

export type Published<Content> = ReturnType<typeof createPublished<Content>>

const PAGE_SIZE = 20

/** Content that is edited as a whole, with all its versions; apps get the newest. */
export function createPublished<Content>(deps: PublishedDeps<Content>) {
  const { db, now, kind, check, store } = deps
  const { publications } = db.tables
  const load = 'load' in deps ? deps.load : loadNewest
  return { publish, change, rollBack, load, readLive, history, find }

  /** Replaces the content. Throws `validation_failed`, and `conflict` if it has changed since version `by.base`. */
  function publish(edited: unknown, by = BY_COMMAND): Promise<Change<Content>> {
    return change((before) => check(edited, before), by)
  }

  /** Publishes an earlier version as a new one. */
  async function rollBack(version: number, by = BY_COMMAND): Promise<Change<Content>> {
    const note = by.note || `Rolled back to version ${version}`
    return publish(await find(version), { ...by, note })
  }

  /** Throws `conflict` when `base` is not the current version. Content from before versioning becomes version 1. */
  function change(
    edit: (before: Content) => Content,
    { author, note, base }: Publishing = BY_COMMAND,
  ): Promise<Change<Content>> {
    return db.write(async (tx) => {
      const before = await load(tx)
      const edited = edit(before)
      const last = await findLatestVersion(tx)
      requireBase(base, last ?? 0)
      await store(tx, edited)
      // Stored content may contain more, such as new ids.
      const content = 'load' in deps ? await load(tx) : edited
      const version = (last ?? 1) + 1
      const origin = 'initial' in deps ? 'Built-in content' : 'Content from before versioning'
      if (last === null) await add(tx, 1, before, null, origin)
      await add(tx, version, content, author, note)
      return { version, before, content }
    })
  }

  /** The current version, 0 if there is none yet. Bypasses the cache, which may be older than the version. */
  async function readLive(): Promise<{ version: number; content: Content }> {
    return { version: (await findLatestVersion(db.read)) ?? 0, content: await load(db.read) }
  }

  /** Versions below `before`, newest first, each with its differences. */
  async function history(before = Number.MAX_SAFE_INTEGER) {
    const rows = await db.read
      .select()
      .from(publications)
      .where(and(eq(publications.kind, kind), lt(publications.version, before)))
      .orderBy(desc(publications.version))
      .limit(PAGE_SIZE + 1)
    const versions = rows.slice(0, PAGE_SIZE).map((row, at) => {
      const { version, author, note, publishedAt, content } = row
      const earlier = rows[at + 1]
      const differences = earlier ? differencesBetween(earlier.content, content) : []
      return { version, author, note, publishedAt: publishedAt.toISOString(), differences }
    })
    const next = rows.length > PAGE_SIZE ? (versions.at(-1)?.version ?? null) : null
    return { versions, next }
  }

  /** Throws `not_found`. */
  async function find(version: number, from = db.read): Promise<unknown> {
    const [row] = await from
      .select()
      .from(publications)
      .where(and(eq(publications.kind, kind), eq(publications.version, version)))
    if (!row) throw new AppError('not_found', `There is no version ${version}.`)
    return row.content
  }

  async function findLatestVersion(from: Reader): Promise<number | null> {
    const [row] = await from
      .select({ version: publications.version })
      .from(publications)
      .where(eq(publications.kind, kind))
      .orderBy(desc(publications.version))
      .limit(1)
    return row?.version ?? null
  }

  async function loadNewest(from: Reader): Promise<Content> {
    const version = await findLatestVersion(from)
    if (version !== null) return (await find(version, from)) as Content
    return 'initial' in deps ? deps.initial : load(from)
  }

  async function add(
    tx: Tx,
    version: number,
    content: unknown,
    author: string | null,
    note: string,
  ) {
    const publishedAt = now()
    await tx.insert(publications).values({ kind, version, content, author, note, publishedAt })
  }
}

function requireBase(base: number | undefined, last: number) {
  if (base === undefined || base === last) return
  throw new AppError(
    'conflict',
    `Version ${last} was published while you were editing version ${base}.`,
    {
      details: [{ path: 'base', message: `must be ${last}` }],
    },
  )
}
