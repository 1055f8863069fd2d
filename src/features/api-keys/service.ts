import { and, desc, eq, isNull, lt, or } from 'drizzle-orm'
import { isNetwork } from '../../config/values.ts'
import { newApiKey } from '../../lib/crypto/api-key.ts'
import { sha256 } from '../../lib/crypto/hash.ts'
import { AppError, type ErrorDetail } from '../../lib/errors.ts'
import type { Scope } from '../../lib/scopes.ts'
import type { Reader } from '../../platform/db/db.ts'
import type { ApiKeysDb } from './schema.ts'

/** A key to create. `expiresInMs` and `requestsPerMinute`: null for no limit. */
type NewKey = {
  name: string
  scopes: Scope[]
  networks: string[]
  expiresInMs: number | null
  requestsPerMinute: number | null
}

type ApiKeysDeps = { db: ApiKeysDb; now: () => Date; newId: () => string }
export type ApiKeys = ReturnType<typeof createApiKeys>

const MAX_NAME_LENGTH = 64
const PREFIX_LENGTH = 9

export function createApiKeys({ db, now, newId }: ApiKeysDeps) {
  const { apiKeys } = db.tables
  const byHash = db.cached('api_keys', async (from) => {
    return new Map((await findRows(from)).map((row) => [row.hash, row]))
  })
  /** When each key was last used, by id, until `flushUses` stores it. */
  const uses = new Map<string, Date>()
  return { create, list, revoke, find, flushUses }

  /** The secret is returned only here. Throws `conflict` if the name is taken. */
  async function create(wanted: NewKey) {
    validate(wanted)
    const { name, scopes, networks, expiresInMs, requestsPerMinute } = wanted
    const secret = newApiKey()
    const at = now()
    const row = {
      id: newId(),
      name,
      prefix: secret.slice(0, PREFIX_LENGTH),
      hash: sha256(secret),
      scopes,
      networks,
      requestsPerMinute,
      createdAt: at,
      expiresAt: expiresInMs === null ? null : new Date(at.getTime() + expiresInMs),
    }
    await db.write(async (tx) => {
      const inserted = await tx.insert(apiKeys).values(row).onConflictDoNothing().returning()
      if (inserted.length === 0) {
        throw new AppError(
          'conflict',
          `There is already an API key named ${name}. Revoke it, or choose another name.`,
        )
      }
      await byHash.invalidate(tx)
    })
    return { ...toApiKey({ ...row, revokedAt: null, lastUsedAt: null }), secret }
  }

  /** Newest first, without their secrets. */
  async function list() {
    return (await findRows(db.read)).map(toApiKey)
  }

  /** Throws `not_found` for an unknown name or id. */
  async function revoke(nameOrId: string) {
    return db.write(async (tx) => {
      const hasNameOrId = or(eq(apiKeys.name, nameOrId), eq(apiKeys.id, nameOrId))
      const [row] = await tx
        .update(apiKeys)
        .set({ revokedAt: now() })
        .where(and(hasNameOrId, isNull(apiKeys.revokedAt)))
        .returning()
      if (!row) throw new AppError('not_found', `There is no active API key ${nameOrId}.`)
      await byHash.invalidate(tx)
      return toApiKey(row)
    })
  }

  /** The key with this secret, including revoked and expired ones; undefined if there is none. */
  async function find(secret: string) {
    const row = (await byHash.read()).get(sha256(secret))
    if (row) uses.set(row.id, now())
    return row
  }

  /** Stores when keys were last used. Requests do not wait for this. */
  async function flushUses() {
    const used = [...uses]
    if (used.length === 0) return
    uses.clear()
    await db.write(async (tx) => {
      for (const [id, lastUsedAt] of used) {
        const isOlder = or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, lastUsedAt))
        await tx
          .update(apiKeys)
          .set({ lastUsedAt })
          .where(and(eq(apiKeys.id, id), isOlder))
      }
    })
  }

  async function findRows(from: Reader) {
    return await from.select().from(apiKeys).orderBy(desc(apiKeys.id))
  }

  function toApiKey(row: typeof apiKeys.$inferSelect) {
    const { hash: _hash, createdAt, expiresAt, revokedAt, lastUsedAt, ...visible } = row
    const isExpired = expiresAt !== null && expiresAt <= now()
    return {
      ...visible,
      status: revokedAt !== null ? 'revoked' : isExpired ? 'expired' : 'active',
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt?.toISOString() ?? null,
      revokedAt: revokedAt?.toISOString() ?? null,
      lastUsedAt: (uses.get(row.id) ?? lastUsedAt)?.toISOString() ?? null,
    }
  }
}

function validate({ name, scopes, networks }: NewKey) {
  const details: ErrorDetail[] = []
  if (
    name.trim() !== name ||
    name === '' ||
    [...name].length > MAX_NAME_LENGTH ||
    /\p{C}/u.test(name)
  ) {
    details.push({
      path: 'name',
      message: `must be one line of 1 to ${MAX_NAME_LENGTH} characters`,
    })
  }
  if (scopes.length === 0) details.push({ path: 'scopes', message: 'must name at least one scope' })
  for (const [at, network] of networks.entries()) {
    if (isNetwork(network)) continue
    details.push({ path: `networks.${at}`, message: 'must be an IP address or a network' })
  }
  if (details.length === 0) return
  throw new AppError('validation_failed', 'The API key is invalid.', { details })
}
