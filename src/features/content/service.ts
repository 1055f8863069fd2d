import { asc, sql } from 'drizzle-orm'
import { check } from '../../lib/validation.ts'
import { AFTER_CACHES_MS, type Reader, type Tx } from '../../platform/db/db.ts'
import { createPublished } from '../../platform/publications/publications.ts'
import type { PublicationsDb } from '../../platform/publications/schema.ts'
import { type ContentVersions, type Faq, type FaqImport, FaqImports } from './model.ts'
import type { ContentDb } from './schema.ts'

export type Content = ReturnType<typeof createContent>

type ContentDeps = {
  db: ContentDb & PublicationsDb & { isShared: boolean }
  now: () => Date
  newId: () => string
}

/** `publish` and the other publication methods are those of the FAQs. */
export function createContent({ db, now, newId }: ContentDeps) {
  const { contentVersions, faqs } = db.tables
  let lastReturned: string | null = null
  const allVersions = db.read.select().from(contentVersions).prepare()
  const questions = db.cached('faqs', load)
  /** In order, with texts in all languages. */
  const readFaqs: () => Promise<Faq[]> = questions.read
  const published = createPublished<FaqImport[]>({
    db,
    now,
    kind: 'faqs',
    load: async (from) => toImports(await load(from)),
    check: (list) => check(FaqImports, list, 'faqs'),
    async store(tx, wanted) {
      await replaceFaqs(tx, wanted)
      await bump(tx, 'faqs')
      await questions.invalidate(tx)
    },
  })
  return { ...published, readVersions, readFaqs, bump, seed }

  /** Returns a new version only once every instance serves its content: an app reads that content only once. */
  async function readVersions(): Promise<ContentVersions> {
    const rows = await allVersions.execute()
    const findVersion = (name: string) => rows.find((row) => row.name === name)?.version ?? 0
    const versions = { appSetting: findVersion('appSetting'), faqs: findVersion('faqs') }
    const key = JSON.stringify(versions)
    if (db.isShared && key !== lastReturned) await Bun.sleep(AFTER_CACHES_MS)
    lastReturned = key
    return versions
  }

  /** In the caller's transaction. */
  async function bump(tx: Tx, name: keyof ContentVersions) {
    await tx
      .insert(contentVersions)
      .values({ name, version: 1 })
      .onConflictDoUpdate({
        target: contentVersions.name,
        set: { version: sql`${contentVersions.version} + 1` },
      })
  }

  function load(from: Reader): Promise<Faq[]> {
    return from.select().from(faqs).orderBy(asc(faqs.position)).execute()
  }

  /** In the caller's transaction. */
  async function seed(tx: Tx, list: unknown) {
    await replaceFaqs(tx, check(FaqImports, list, 'faqs'))
    for (const name of ['appSetting', 'faqs'] as const) await bump(tx, name)
  }

  /** Replaces the whole list. Unchanged questions keep their id. */
  async function replaceFaqs(tx: Tx, wanted: FaqImport[]) {
    const before = await tx.select().from(faqs)
    const idByQuestion = new Map(before.map((faq) => [JSON.stringify(faq.question), faq.id]))
    await tx.delete(faqs)
    for (const [position, faq] of wanted.entries()) {
      const id = idByQuestion.get(JSON.stringify(faq.question)) ?? newId()
      idByQuestion.delete(JSON.stringify(faq.question))
      await tx.insert(faqs).values({ id, position, ...faq })
    }
  }
}

/** The FAQs in the format that `faqs publish` reads. */
export function toImports(list: Faq[]): FaqImport[] {
  return list.map(({ question, answer, category }) => ({ question, answer, category }))
}
