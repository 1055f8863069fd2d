import { eq, sql } from 'drizzle-orm'
import { sha256 } from '../../lib/crypto/hash.ts'
import { AppError, accountDeleted, notFound } from '../../lib/errors.ts'
import { mergePatch } from '../../lib/text/merge-patch.ts'
import type { Reader, Tx } from '../../platform/db/db.ts'
import { prepareFind, prepareUpsert } from '../../platform/db/prepared.ts'
import type { ExistingUsers } from '../../platform/user-table.ts'
import type { Author, DataDb, JsonObject } from './schema.ts'

type DataDeps = {
  db: DataDb
  now: () => Date
  existingUsers: ExistingUsers
  /** In the caller's transaction. */
  recordChange: (tx: Tx, userId: string) => Promise<void>
}

/** A user's document; empty if none is stored. */
type Document = { content: JsonObject; version: string; updatedAt: Date | null }

/**
 * Preconditions of a change. `accepted`: the versions that may be changed; null for any. `refused`: those that may not;
 * `*` for any stored version.
 */
export type Condition = { accepted: string[] | null; refused: string[] }

export type DataService = ReturnType<typeof createData>

/** As JSON in UTF-8. */
export const MAX_DOCUMENT_BYTES = 64 * 1024
const VERSION_LENGTH = 22

const ANY_VERSION: Condition = { accepted: null, refused: [] }
const EMPTY: Document = { content: {}, version: computeVersion({}), updatedAt: null }

/** The app writes `data`, servers write `serverData`. Throws `precondition_failed` if a condition is not met. */
export function createData({ db, now, existingUsers, recordChange }: DataDeps) {
  const { userDocuments } = db.tables
  const documents = db.read
    .select()
    .from(userDocuments)
    .where(eq(userDocuments.userId, sql.placeholder('userId')))
    .prepare()
  const findDocument = prepareFind(db, userDocuments)
  const upsert = prepareUpsert(db, userDocuments)
  return {
    read,
    replace,
    patch,
    readServerData,
    replaceServerData,
    patchServerData,
    list,
    moveAll,
  }

  async function read(userId: string) {
    const rows = await documents.execute({ userId })
    const { content: data, version, updatedAt } = rows.find(isBy('app')) ?? EMPTY
    const server = rows.find(isBy('server')) ?? EMPTY
    return {
      data,
      version,
      updatedAt: updatedAt?.toISOString() ?? null,
      serverData: server.content,
      serverVersion: server.version,
    }
  }

  /** Throws `not_found` for an unknown user. */
  async function readServerData(userId: string) {
    if ((await existingUsers(db.read, [userId])).length === 0) throw notFound()
    const { content, version, updatedAt } = await find(db.read, userId, 'server')
    return { serverData: content, version, updatedAt: updatedAt?.toISOString() ?? null }
  }

  async function replace(userId: string, data: JsonObject, condition = ANY_VERSION) {
    await change('app', userId, condition, () => data)
    return read(userId)
  }

  /** Applies a merge patch (RFC 7396). */
  async function patch(userId: string, patch: JsonObject, condition = ANY_VERSION) {
    await change('app', userId, condition, (before) => mergePatch(before, patch))
    return read(userId)
  }

  async function replaceServerData(userId: string, data: JsonObject, condition = ANY_VERSION) {
    await change('server', userId, condition, () => data)
    return readServerData(userId)
  }

  async function patchServerData(userId: string, patch: JsonObject, condition = ANY_VERSION) {
    await change('server', userId, condition, (before) => mergePatch(before, patch))
    return readServerData(userId)
  }

  async function change(
    author: Author,
    userId: string,
    { accepted, refused }: Condition,
    edit: (before: JsonObject) => JsonObject,
  ) {
    await db.write(async (tx) => {
      if ((await existingUsers(tx, [userId])).length === 0)
        throw author === 'app' ? accountDeleted(userId) : notFound()
      const { content, version, updatedAt } = await find(tx, userId, author)
      const isRefused = refused.includes(version) || (refused.includes('*') && updatedAt !== null)
      if (isRefused || (accepted !== null && !accepted.includes(version)))
        throw preconditionFailed()
      const edited = edit(content)
      if (measureSize(edited) > MAX_DOCUMENT_BYTES) throw documentTooLarge()
      if (computeVersion(edited) !== version) await store(tx, userId, author, edited)
    })
  }

  async function find(from: Reader, userId: string, author: Author): Promise<Document> {
    return (await findDocument(from, { userId, author })) ?? EMPTY
  }

  async function store(tx: Tx, userId: string, author: Author, content: JsonObject) {
    const version = computeVersion(content)
    await upsert(tx, { userId, author, content, version, updatedAt: now() })
    await recordChange(tx, userId)
  }

  /** For the export and the console. */
  async function list(userId: string) {
    const rows = await documents.execute({ userId })
    return rows.map(({ author, content, updatedAt }) => ({
      author,
      content,
      updatedAt: updatedAt.toISOString(),
    }))
  }

  /** Adds the members of a guest's documents that the account's documents lack. */
  async function moveAll(tx: Tx, guestId: string, userId: string) {
    const rows = await tx.select().from(userDocuments).where(eq(userDocuments.userId, guestId))
    for (const { author, content } of rows) {
      const own = await find(tx, userId, author)
      const merged = addMembers(own.content, content)
      if (own.updatedAt === null || computeVersion(merged) !== own.version)
        await store(tx, userId, author, merged)
    }
  }
}

/** Leaves out the members that would make the document too large. */
function addMembers(own: JsonObject, others: JsonObject): JsonObject {
  const merged = new Map(Object.entries(own))
  // Serializing the whole document for each member would take seconds.
  let size = measureSize(own)
  for (const [name, value] of Object.entries(others)) {
    if (merged.has(name)) continue
    const braces = 2
    const comma = merged.size > 0 ? 1 : 0
    const added = measureSize(Object.fromEntries([[name, value]])) - braces + comma
    if (size + added > MAX_DOCUMENT_BYTES) continue
    merged.set(name, value)
    size += added
  }
  return Object.fromEntries(merged)
}

function isBy(author: Author) {
  return (row: { author: Author }) => row.author === author
}

function measureSize(content: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(content))
}

/** A hash of the content, so a version from a merged guest account never identifies different content. */
function computeVersion(content: JsonObject): string {
  return sha256(JSON.stringify(content)).slice(0, VERSION_LENGTH)
}

function preconditionFailed(): AppError {
  return new AppError(
    'precondition_failed',
    'The data has changed in the meantime. Load it again, then repeat the change.',
  )
}

function documentTooLarge(): AppError {
  const message = `The data must not exceed ${MAX_DOCUMENT_BYTES} bytes in total.`
  return new AppError('payload_too_large', message)
}
