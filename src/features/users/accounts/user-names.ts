import {
  aliasedTable,
  and,
  asc,
  eq,
  exists,
  gt,
  gte,
  lt,
  ne,
  notExists,
  type SQL,
} from 'drizzle-orm'
import { backfill, createCursor } from '../../../platform/db/batched-changes.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { beginsWith } from '../../../platform/db/key-ranges.ts'
import { prepareInsertNew, prepareRemove } from '../../../platform/db/prepared.ts'
import type { UsersDb } from '../schema.ts'

export type UserNames = ReturnType<typeof createUserNames>

type NamedUser = { id: string; name: string }

const USERS_PER_CHANGE = 200
const MAX_WORDS = 8
const MAX_WORD_LENGTH = 40

export function createUserNames(db: UsersDb) {
  const { users, userNames, userBackfills } = db.tables
  const removeWords = prepareRemove(db, userNames, 'userId')
  const addWord = prepareInsertNew(db, userNames)
  return { add, replace, find, backfill: backfillAll }

  async function add(tx: Tx, namedUsers: NamedUser[]) {
    const rows = namedUsers.flatMap(({ id: userId, name }) =>
      splitWords(name).map((word) => ({ userId, word })),
    )
    if (rows.length > 0) await tx.insert(userNames).values(rows).onConflictDoNothing()
  }

  async function replace(tx: Tx, { id: userId, name }: NamedUser) {
    await removeWords(tx, { userId })
    for (const word of splitWords(name)) await addWord(tx, { userId, word })
  }

  /** The ids of at most `limit` users whose names have a word that begins with each word of `text`. */
  async function find(text: string, limit: number): Promise<string[]> {
    const [longest, ...others] = splitWords(text).toSorted((a, b) => b.length - a.length)
    if (longest === undefined) return []
    const other = aliasedTable(userNames, 'other')
    const hasWord = (where: SQL | undefined) =>
      db.read
        .select()
        .from(other)
        .where(and(eq(other.userId, userNames.userId), where))
    const isEarlier = and(gte(other.word, longest), lt(other.word, userNames.word))
    const rows = await db.read
      .select({ userId: userNames.userId })
      .from(userNames)
      .where(
        and(
          beginsWith(userNames.word, longest),
          // Finds a user once, even by a name with several such words.
          notExists(hasWord(isEarlier)),
          ...others.map((word) => exists(hasWord(beginsWith(other.word, word)))),
        ),
      )
      .orderBy(asc(userNames.word), asc(userNames.userId))
      .limit(limit)
    return rows.map(({ userId }) => userId)
  }

  /** Adds the words of users who existed before this table. */
  async function backfillAll(signal: AbortSignal) {
    await backfill(db, createCursor(db, userBackfills, 'names'), addAfter, signal)
  }

  async function addAfter(tx: Tx, after: string) {
    const namedUsers = await tx
      .select({ id: users.id, name: users.name })
      .from(users)
      .where(and(gt(users.id, after), ne(users.name, '')))
      .orderBy(asc(users.id))
      .limit(USERS_PER_CHANGE)
    await add(tx, namedUsers)
    return namedUsers.at(-1)?.id
  }
}

/** `Zoë O’Brien-Smith` has the words `zoe`, `o`, `brien` and `smith`. */
function splitWords(name: string): string[] {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const words = plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
  return [...new Set(words.slice(0, MAX_WORDS).map((word) => word.slice(0, MAX_WORD_LENGTH)))]
}
