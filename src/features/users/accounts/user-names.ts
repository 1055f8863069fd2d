import { and, asc, eq, gt, gte, inArray, lt, ne } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import type { UsersDb } from '../schema.ts'

export type UserNames = ReturnType<typeof createUserNames>

type NamedUser = { id: string; name: string }

const USERS_PER_CHANGE = 200
const MAX_WORDS = 8
const MAX_WORD_LENGTH = 40
/** Of the users with one word, this many are compared with the other words. */
const MAX_ROWS_SCANNED = 2_000
/** The row of `user_backfills` that says how far `backfill` has come, and its value at the end. */
const BACKFILL = { id: 'names', end: '~' }

/** Finds users by the beginnings of the words in their names. */
export function createUserNames(db: UsersDb) {
  const { users, userNames, userBackfills } = db.tables
  return { add, replace, find, backfill }

  /** Stores the words of new users' names. */
  async function add(tx: Tx, named: NamedUser[]) {
    const rows = named.flatMap(({ id: userId, name }) =>
      wordsIn(name).map((word) => ({ userId, word })),
    )
    if (rows.length > 0) await tx.insert(userNames).values(rows).onConflictDoNothing()
  }

  async function replace(tx: Tx, user: NamedUser) {
    await tx.delete(userNames).where(eq(userNames.userId, user.id))
    await add(tx, [user])
  }

  /** The ids of at most `limit` users whose names have, for each word of `text`, one that begins with it. */
  async function find(text: string, limit: number): Promise<string[]> {
    const [longest, ...others] = wordsIn(text).toSorted((a, b) => b.length - a.length)
    if (longest === undefined) return []
    const rows = await db.read
      .select({ userId: userNames.userId })
      .from(userNames)
      .where(beginsWith(longest))
      .orderBy(asc(userNames.word), asc(userNames.userId))
      .limit(others.length === 0 ? limit : MAX_ROWS_SCANNED)
    let found = [...new Set(rows.map(({ userId }) => userId))]
    for (const word of others) {
      const matching = await db.read
        .select({ userId: userNames.userId })
        .from(userNames)
        .where(and(inArray(userNames.userId, found), beginsWith(word)))
      const ids = new Set(matching.map(({ userId }) => userId))
      found = found.filter((id) => ids.has(id))
    }
    return found.slice(0, limit)
  }

  function beginsWith(word: string) {
    return and(gte(userNames.word, word), lt(userNames.word, `${word}\u{10ffff}`))
  }

  /** Stores the words of users from before this table existed. */
  async function backfill(signal: AbortSignal) {
    const isProgress = eq(userBackfills.id, BACKFILL.id)
    const [progress] = await db.read.select().from(userBackfills).where(isProgress)
    for (let after = progress?.reached ?? ''; after !== BACKFILL.end && !signal.aborted; ) {
      after = await db.write(async (tx) => {
        const named = await tx
          .select({ id: users.id, name: users.name })
          .from(users)
          .where(and(gt(users.id, after), ne(users.name, '')))
          .orderBy(asc(users.id))
          .limit(USERS_PER_CHANGE)
        await add(tx, named)
        const reached = named.at(-1)?.id ?? BACKFILL.end
        await tx
          .insert(userBackfills)
          .values({ id: BACKFILL.id, reached })
          .onConflictDoUpdate({ target: userBackfills.id, set: { reached } })
        return reached
      })
      await Bun.sleep(1)
    }
  }
}

/** `Zoë O’Brien-Smith` has the words `zoe`, `o`, `brien` and `smith`. */
function wordsIn(name: string): string[] {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const words = plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
  return [...new Set(words.slice(0, MAX_WORDS).map((word) => word.slice(0, MAX_WORD_LENGTH)))]
}
