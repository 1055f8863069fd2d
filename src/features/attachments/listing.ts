import { and, asc, eq, gte } from 'drizzle-orm'
import { findPage, pageUnknown } from '../../platform/lists/find-page.ts'
import { createSources } from '../../platform/lists/sources.ts'
import type { Variants } from './images/variants.ts'
import type { AttachmentsDb } from './schema.ts'
import type { FileUrls } from './storage/file-urls.ts'

type ListingDeps = { db: AttachmentsDb; variants: Pick<Variants, 'listOf'>; urls: FileUrls }

const CURSOR = /^\d{1,15}-[a-z0-9.]{1,40}$/

export type Listing = ReturnType<typeof createListing>

/** Lists a user's files: in pages for apps, in full for the export. */
export function createListing({ db, variants, urls }: ListingDeps) {
  const { attachments } = db.tables
  return { page, list, hasFileSince }

  /** A page of a user's files, newest first. */
  async function page(
    userId: string,
    { limit, after }: { limit: number; after?: string | undefined },
    baseUrl: string,
  ) {
    if (after !== undefined && !CURSOR.test(after)) throw pageUnknown()
    const sources = createSources(
      { read: db.read, table: attachments, key: attachments.key, isDescending: true },
      [
        {
          where: eq(attachments.userId, userId),
          isIndexed: true,
          sortedBy: attachments.createdAt,
        },
      ],
    )
    const { rows, next } = await findPage({ sources, after, limit })
    const records = rows.map((row) => {
      const { key, type, fileName, itemType, size, createdAt } = row
      const links = { ...urls.linkTo(row, baseUrl), createdAt: createdAt.toISOString() }
      return { key, type, fileName, itemType, size, ...links }
    })
    return { records, next }
  }

  /** Whether a user has a file that was stored at `since` or later. */
  async function hasFileSince(userId: string, since: Date): Promise<boolean> {
    const [file] = await db.read
      .select({ key: attachments.key })
      .from(attachments)
      .where(and(eq(attachments.userId, userId), gte(attachments.createdAt, since)))
      .limit(1)
    return file !== undefined
  }

  /** A user's files, for the export. */
  async function list(userId: string) {
    const rows = await db.read
      .select()
      .from(attachments)
      .where(eq(attachments.userId, userId))
      .orderBy(asc(attachments.createdAt), asc(attachments.key))
    const userVariants = Map.groupBy(await variants.listOf(userId), ({ original }) => original)
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
