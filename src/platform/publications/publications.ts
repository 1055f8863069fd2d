import { and, desc, eq, lt } from 'drizzle-orm'
import { AppError } from '../../lib/errors.ts'
import { type Difference, differencesBetween } from '../../lib/text/differences.ts'
import type { Reader, Tx } from '../db/db.ts'
import type { PublicationsDb } from './schema.ts'

/** The author and the reason. `base` is the version that was edited; without it, any current version is accepted. */
export type Publishing = { author: string | null; note: string; base?: number | undefined }

/** For a change made by a command without a note. */
export const BY_COMMAND: Publishing = { author: null, note: '' }

/** A version and its differences from the one before. */
export type Publication = {
  version: number
  author: string | null
  note: string
  publishedAt: string
  differences: Difference[]
}

const PAGE_SIZE = 20

/** The versions of one kind of content; apps get the newest. */
export function createPublished(
  { db, now }: { db: PublicationsDb; now: () => Date },
  kind: string,
) {
  const { publications } = db.tables
  return { publish, current, list, find }

  /**
   * Stores `after` as a new version, as part of the change that publishes it. Throws `conflict` when `base` is not the
   * current version. Content from before versioning becomes version 1.
   */
  async function publish(tx: Tx, before: unknown, after: unknown, publishing: Publishing) {
    const { author, note, base } = publishing
    const last = await latest(tx)
    requireBase(base, last ?? 0)
    if (last === null) {
      await add(tx, 1, before, null, 'Content from before versioning')
    }
    await add(tx, (last ?? 1) + 1, after, author, note)
  }

  /** The current version; 0 when there is none yet. */
  async function current(): Promise<number> {
    return (await latest(db.read)) ?? 0
  }

  /** Versions below `before`, newest first, each with its differences. */
  async function list(before = Number.MAX_SAFE_INTEGER): Promise<{
    versions: Publication[]
    next: number | null
  }> {
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

  /** The content of a version. Throws `not_found`. */
  async function find(version: number): Promise<unknown> {
    const [row] = await db.read
      .select()
      .from(publications)
      .where(and(eq(publications.kind, kind), eq(publications.version, version)))
    if (!row) throw new AppError('not_found', `There is no version ${version}.`)
    return row.content
  }

  async function latest(from: Reader): Promise<number | null> {
    const [row] = await from
      .select({ version: publications.version })
      .from(publications)
      .where(eq(publications.kind, kind))
      .orderBy(desc(publications.version))
      .limit(1)
    return row?.version ?? null
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
