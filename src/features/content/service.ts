import { asc, sql } from 'drizzle-orm'
import { check } from '../../lib/validation.ts'
import { AFTER_CACHES_MS, type Reader, type Tx } from '../../platform/db/db.ts'
import { BY_COMMAND, createPublished } from '../../platform/publications/publications.ts'
import type { PublicationsDb } from '../../platform/publications/schema.ts'
import { type ContentVersions, type Faq, type FaqImport, FaqImports } from './model.ts'
import type { ContentDb } from './schema.ts'

export type Content = ReturnType<typeof createContent>

type ContentDeps = {
  db: ContentDb & PublicationsDb & { isShared: boolean }
  now: () => Date
  newId: () => string
}

export function createContent({ db, now, newId }: ContentDeps) {
  const publications = createPublished({ db, now }, 'faqs')
  const { contentVersions, faqs } = db.tables
  let lastReturned: string | null = null
  const allVersions = db.read.select().from(contentVersions).prepare()
  const questions = db.cached('faqs', load)
  /** All FAQs in order, with texts in all languages. */
  const readFaqs: () => Promise<Faq[]> = questions.read
  const { list: history, find } = publications
  return { readVersions, readFaqs, bump, importFaqs, rollBack, readLive, find, history, seed }

  /** A new version is returned only when every instance serves its content: an app reads it once. */
  async function readVersions(): Promise<ContentVersions> {
    const rows = await allVersions.execute()
    const versionOf = (name: string) => rows.find((row) => row.name === name)?.version ?? 0
    const versions = { appSetting: versionOf('appSetting'), faqs: versionOf('faqs') }
    const key = JSON.stringify(versions)
    if (db.isShared && key !== lastReturned) await Bun.sleep(AFTER_CACHES_MS)
    lastReturned = key
    return versions
  }

  /** Increments a counter in the caller's transaction. */
  async function bump(tx: Tx, name: keyof ContentVersions) {
    await tx
      .insert(contentVersions)
      .values({ name, version: 1 })
      .onConflictDoUpdate({
        target: contentVersions.name,
        set: { version: sql`${contentVersions.version} + 1` },
      })
  }

  /**
   * Replaces the whole list. Unchanged questions keep their id. Throws `conflict` if the list has
   * changed since version `by.base`.
   */
  async function importFaqs(list: unknown, by = BY_COMMAND): Promise<{ imported: number }> {
    const wanted = check(FaqImports, list, 'faqs')
    await db.write(async (tx) => {
      const before = toImports(await load(tx))
      await publications.publish(tx, before, wanted, by)
      await replaceFaqs(tx, wanted)
      await bump(tx, 'faqs')
      await questions.invalidate(tx)
    })
    return { imported: wanted.length }
  }

  /** Publishes an earlier version as a new one. */
  async function rollBack(version: number, by = BY_COMMAND) {
    const earlier = await publications.find(version)
    return importFaqs(earlier, { ...by, note: by.note || `Rolled back to version ${version}` })
  }

  /** The list with its version, for editing. Not from the cache, which may be older than the version. */
  async function readLive() {
    return { version: await publications.current(), faqs: toImports(await load(db.read)) }
  }

  function load(from: Reader): Promise<Faq[]> {
    return from.select().from(faqs).orderBy(asc(faqs.position)).execute()
  }

  /** Fills empty tables in the caller's transaction. */
  async function seed(tx: Tx, list: unknown) {
    await replaceFaqs(tx, check(FaqImports, list, 'faqs'))
    for (const name of ['appSetting', 'faqs'] as const) await bump(tx, name)
  }

  async function replaceFaqs(tx: Tx, wanted: FaqImport[]) {
    const before = await tx.select().from(faqs)
    const idOf = new Map(before.map((faq) => [JSON.stringify(faq.question), faq.id]))
    await tx.delete(faqs)
    for (const [position, faq] of wanted.entries()) {
      const id = idOf.get(JSON.stringify(faq.question)) ?? newId()
      idOf.delete(JSON.stringify(faq.question))
      await tx.insert(faqs).values({ id, position, ...faq })
    }
  }
}

/** FAQs in the format that `faqs import` reads. */
export function toImports(list: Faq[]): FaqImport[] {
  return list.map(({ question, answer, category }) => ({ question, answer, category }))
}
