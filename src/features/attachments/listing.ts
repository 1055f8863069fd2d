import { and, asc, desc, eq, gte, lt, or, sql } from 'drizzle-orm'
import { pageUnknown } from '../../platform/lists/find-page.ts'
import type { Variants } from './images/variants.ts'
import type { AttachmentsDb } from './schema.ts'
import type { FileUrls } from './storage/file-urls.ts'

type ListingDeps = { db: AttachmentsDb; variants: Pick<Variants, 'list'>; urls: FileUrls }

export type Listing = ReturnType<typeof createListing>

/** Lists a user's files: in pages for apps, in full for the export. */
export function createListing({ db, variants, urls }: ListingDeps) {
  const { attachments } = db.tables
  const { createdAt, key, userId } = attachments
  const pages = new Map<number, ReturnType<typeof preparePage>>()
  return { page, list, hasFileSince }

  function preparePage(limit: number) {
    const ms = sql.placeholder('ms')
    const isOlder = or(lt(createdAt, ms), and(eq(createdAt, ms), lt(key, sql.placeholder('key'))))
    return db.read
      .select()
      .from(attachments)
      .where(and(eq(userId, sql.placeholder('userId')), isOlder))
      .orderBy(desc(createdAt), desc(key))
      .limit(limit)
      .prepare()
  }

  /** Newest first. The query is prepared, because apps run it often. */
  async function page(
    userId: string,
    { limit, after }: { limit: number; after?: string | undefined },
    baseUrl: string,
  ) {
    const query = pages.getOrInsertComputed(limit + 1, preparePage)
    const rows = await query.execute({ userId, ...parseCursor(after) })
    const last = rows.length > limit ? rows[limit - 1] : undefined
    const records = rows.slice(0, limit).map((row) => {
      const { key, type, fileName, itemType, size, createdAt } = row
      const links = { ...urls.linkTo(row, baseUrl), createdAt: createdAt.toISOString() }
      return { key, type, fileName, itemType, size, ...links }
    })
    return { records, next: last ? `${last.createdAt.getTime()}-${last.key}` : null }
  }

  function parseCursor(cursor: string | undefined) {
    if (cursor === undefined) return { ms: Number.MAX_SAFE_INTEGER, key: '' }
    const [, ms, key] = /^(\d{1,15})-([a-z0-9.]{1,40})$/.exec(cursor) ?? []
    if (ms === undefined || key === undefined) throw pageUnknown()
    return { ms: Number(ms), key }
  }

  async function hasFileSince(userId: string, since: Date): Promise<boolean> {
    const [file] = await db.read
      .select({ key: attachments.key })
      .from(attachments)
      .where(and(eq(attachments.userId, userId), gte(attachments.createdAt, since)))
      .limit(1)
    return file !== undefined
  }

  /** Oldest first, for the export. */
  async function list(userId: string) {
    const rows = await db.read
      .select()
      .from(attachments)
      .where(eq(attachments.userId, userId))
      .orderBy(asc(attachments.createdAt), asc(attachments.key))
    const userVariants = Map.groupBy(await variants.list(userId), ({ original }) => original)
    return rows.map(({ key, type, fileName, itemType, size, createdAt }) => ({
      key,
      type,
      fileName,
      itemType,
      size,
      createdAt: createdAt.toISOString(),
      variants: (userVariants.get(key) ?? []).map((variant) => variant.key),
    }))
  }
}
