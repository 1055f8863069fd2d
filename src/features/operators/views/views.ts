import { and, asc, eq } from 'drizzle-orm'
import { AppError, notFound } from '../../../lib/errors.ts'
import { prepareUpsert } from '../../../platform/db/prepared.ts'
import type { OperatorsDb } from '../schema.ts'

/** `search`: the query string of the list, such as `?status=trial`. */
export type View = { name: string; path: string; search: string }

export type Views = ReturnType<typeof createViews>

const MAX_VIEWS = 50

export function createViews(db: OperatorsDb) {
  const { operatorViews } = db.tables
  const { name, path, search } = operatorViews
  const store = prepareUpsert(db, operatorViews)
  return { list, save, remove }

  async function list(operatorId: string): Promise<View[]> {
    return db.read
      .select({ name, path, search })
      .from(operatorViews)
      .where(eq(operatorViews.operatorId, operatorId))
      .orderBy(asc(name))
  }

  /** Replaces an earlier view of this name. Throws `conflict` at 50 views. */
  async function save(operatorId: string, view: View) {
    await db.write(async (tx) => {
      const isOwn = eq(operatorViews.operatorId, operatorId)
      const known = await tx.select({ name }).from(operatorViews).where(isOwn)
      const isNew = !known.some((saved) => saved.name === view.name)
      if (isNew && known.length >= MAX_VIEWS)
        throw new AppError('conflict', 'You have 50 saved views. Remove one first.')
      await store(tx, { operatorId, ...view })
    })
  }

  async function remove(operatorId: string, removed: string) {
    const isRemoved = and(eq(operatorViews.operatorId, operatorId), eq(name, removed))
    const rows = await db.write((tx) => tx.delete(operatorViews).where(isRemoved).returning())
    if (rows.length === 0) throw notFound()
  }
}
