import { and, desc, eq } from 'drizzle-orm'
import { AppError, invalidField, notFound } from '../../../lib/errors.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { UsersContext } from '../context/context.ts'

export const MAX_NOTE_LENGTH = 2_000
const MAX_NOTES = 100

/** Operators' notes on users, who see them only in the export of their data. */
export function createNotes({ db, accounts, now, newId }: UsersContext) {
  const { userNotes } = db.tables
  return { list, add, remove, move }

  /** Newest first. `author` is null for notes from the command line. */
  async function list(userId: string) {
    const rows = await db.read
      .select()
      .from(userNotes)
      .where(eq(userNotes.userId, userId))
      .orderBy(desc(userNotes.id))
    return rows.map(({ id, text, author, createdAt }) => {
      return { _id: id, text, author, createdAt: createdAt.toISOString() }
    })
  }

  /** Throws `not_found` for a user who was deleted meanwhile, and `conflict` once a user has 100 notes. */
  async function add(userId: string, text: string, author: string | null) {
    const trimmed = text.trim()
    if (trimmed === '') throw invalidField('text', 'must not be empty')
    if ([...trimmed].length > MAX_NOTE_LENGTH)
      throw invalidField('text', `must have ${MAX_NOTE_LENGTH} characters or fewer`)
    const id = newId()
    await db.write(async (tx) => {
      if (!(await accounts.existsWithin(tx, userId))) throw notFound()
      if ((await tx.$count(userNotes, eq(userNotes.userId, userId))) >= MAX_NOTES) throw tooMany()
      await tx.insert(userNotes).values({ id, userId, text: trimmed, author, createdAt: now() })
    })
    return id
  }

  async function remove(userId: string, id: string) {
    await db.write(async (tx) => {
      const isThisNote = and(eq(userNotes.id, id), eq(userNotes.userId, userId))
      const removed = await tx.delete(userNotes).where(isThisNote).returning()
      if (removed.length === 0) throw notFound()
    })
  }

  async function move(tx: Tx, guestId: string, userId: string) {
    await tx.update(userNotes).set({ userId }).where(eq(userNotes.userId, guestId))
  }
}

function tooMany(): AppError {
  return new AppError('conflict', `A user can have ${MAX_NOTES} notes. Delete an old one first.`)
}
