import { asc, sql } from 'drizzle-orm'
import type { Tx } from '../../db/db.ts'
import { check } from '../../lib/validation.ts'
import { type ContentVersions, type Faq, type FaqImport, FaqImports } from './model.ts'
import type { ContentDb } from './schema.ts'

export type Content = ReturnType<typeof createContent>

export function createContent({ db, newId }: { db: ContentDb; newId: () => string }) {
  const { contentVersions, faqs } = db.tables
  const allVersions = db.read.select().from(contentVersions).prepare()
  const questions = db.cached('faqs', (from) =>
    from.select().from(faqs).orderBy(asc(faqs.position)).execute(),
  )
  /** All FAQs in their order, with their texts in every language. */
  const readFaqs: () => Promise<Faq[]> = questions.read
  return { readVersions, readFaqs, bump, importFaqs, seed }

  async function readVersions(): Promise<ContentVersions> {
    const rows = await allVersions.execute()
    const versionOf = (name: string) => rows.find((row) => row.name === name)?.version ?? 0
    return { appSetting: versionOf('appSetting'), faqs: versionOf('faqs') }
  }

  /** Moves a counter on as part of the change. */
  async function bump(tx: Tx, name: keyof ContentVersions) {
    await tx
      .insert(contentVersions)
      .values({ name, version: 1 })
      .onConflictDoUpdate({
        target: contentVersions.name,
        set: { version: sql`${contentVersions.version} + 1` },
      })
  }

  /** Replaces the whole list. A question that stays keeps its id. */
  async function importFaqs(list: unknown): Promise<{ imported: number }> {
    const wanted = check(FaqImports, list, 'faqs')
    await db.write(async (tx) => {
      await replaceFaqs(tx, wanted)
      await bump(tx, 'faqs')
      await questions.changed(tx)
    })
    return { imported: wanted.length }
  }

  /** Fills empty tables as part of the change. */
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
