import { randomBytes } from 'node:crypto'
import { asc, count, eq } from 'drizzle-orm'
import { sha256 } from '../../lib/crypto/hash.ts'
import { AppError, invalidField } from '../../lib/errors.ts'
import type { Role } from '../../lib/roles.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import type { Reader, Tx } from '../../platform/db/db.ts'
import type { OperatorsDb } from './schema.ts'

type OperatorAccountsDeps = { db: OperatorsDb; now: () => Date; newId: () => string }

export type OperatorAccounts = ReturnType<typeof createOperatorAccounts>
export type OperatorRow = OperatorsDb['tables']['operators']['$inferSelect']

export const LINK_LIFETIME_MS = 30 * MINUTE_MS
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u

/** The console's operators. A single-use link lets an operator choose how to sign in. */
export function createOperatorAccounts({ db, now, newId }: OperatorAccountsDeps) {
  const { operators, operatorPasskeys, operatorSessions, operatorTokens } = db.tables
  const { operatorRecoveryCodes } = db.tables
  const operatorCount = db.cached(
    'operators',
    async (from) => (await from.select().from(operators)).length,
  )
  return {
    add,
    addFirst,
    reset,
    remove,
    discard,
    changeRole,
    list,
    find,
    findByName,
    hasAny,
    findByLink,
    consumeLink,
  }

  /** Creates an operator and returns the token for their setup link. */
  async function add(name: string, role: Role): Promise<{ name: string; token: string }> {
    if (!NAME.test(name)) {
      const message = 'must start with a letter or digit and have at most 64 characters'
      throw invalidField('name', message, 'The name is invalid.')
    }
    const token = newToken()
    await db.write(async (tx) => {
      if (await byName(tx, name))
        throw new AppError('conflict', `An operator named ${name} already exists.`)
      const id = newId()
      await tx.insert(operators).values({ id, name, role, createdAt: now() })
      await storeLink(tx, id, token)
      await operatorCount.invalidate(tx)
    })
    return { name, token }
  }

  /** In the transaction that sets the operator up. Throws `unauthenticated` if any operator exists by then. */
  async function addFirst(tx: Tx, { id, name }: Pick<OperatorRow, 'id' | 'name'>) {
    if ((await tx.$count(operators)) > 0) throw linkRefused()
    await tx.insert(operators).values({ id, name, role: 'owner', createdAt: now() })
    await operatorCount.invalidate(tx)
  }

  /**
   * Removes an operator's credentials and sessions, and returns the token for a new setup link. `by`: the operator who
   * does this in the console; resetting themselves would end their session before they see the link.
   */
  async function reset(name: string, by?: string): Promise<{ name: string; token: string }> {
    if (name === by) throw ownReset(name)
    const token = newToken()
    await db.write(async (tx) => {
      const { id } = await findOrThrow(tx, name)
      await clearCredentials(tx, id)
      await storeLink(tx, id, token)
    })
    return { name, token }
  }

  async function remove(name: string) {
    await db.write(async (tx) => {
      const { id, role } = await findOrThrow(tx, name)
      if (role === 'owner' && (await isSetUp(tx, id))) await requireOtherOwner(tx, id)
      await tx.delete(operators).where(eq(operators.id, id))
      await operatorCount.invalidate(tx)
    })
  }

  /** Without the checks of `remove`. */
  async function discard(id: string) {
    await db.write(async (tx) => {
      await tx.delete(operators).where(eq(operators.id, id))
      await operatorCount.invalidate(tx)
    })
  }

  async function changeRole(name: string, role: Role): Promise<Role> {
    return db.write(async (tx) => {
      const before = await findOrThrow(tx, name)
      if (before.role === 'owner' && role !== 'owner') await requireOtherOwner(tx, before.id)
      await tx.update(operators).set({ role }).where(eq(operators.id, before.id))
      return before.role as Role
    })
  }

  /** All operators sorted by name, with their sign-in methods. */
  async function list() {
    const rows = await db.read.select().from(operators).orderBy(asc(operators.name))
    const passkeyCounts = await db.read
      .select({ operatorId: operatorPasskeys.operatorId, count: count() })
      .from(operatorPasskeys)
      .groupBy(operatorPasskeys.operatorId)
    const passkeysByOperator = new Map(passkeyCounts.map((row) => [row.operatorId, row.count]))
    return rows.map(({ id, name, role, passwordHash, createdAt }) => {
      const passkeys = passkeysByOperator.get(id) ?? 0
      const hasPassword = passwordHash !== null
      const isSetUp = passkeys > 0 || hasPassword
      return { name, role, passkeys, hasPassword, isSetUp, createdAt: createdAt.toISOString() }
    })
  }

  async function find(from: Reader, id: string): Promise<OperatorRow | undefined> {
    const [row] = await from.select().from(operators).where(eq(operators.id, id))
    return row
  }

  async function findByName(from: Reader, name: string): Promise<OperatorRow | undefined> {
    return byName(from, name)
  }

  /** Whether there are any operators. */
  async function hasAny(): Promise<boolean> {
    return (await operatorCount.read()) > 0
  }

  /** Finds an operator by setup link. Throws `unauthenticated` if the link was used or has expired. */
  async function findByLink(from: Reader, token: string): Promise<OperatorRow> {
    const [link] = await from
      .select()
      .from(operatorTokens)
      .where(eq(operatorTokens.hash, sha256(token)))
    const isValid = link?.purpose === 'link' && link.expiresAt > now()
    const operator = isValid && link.operatorId ? await find(from, link.operatorId) : undefined
    if (!operator) throw linkRefused()
    return operator
  }

  /** Consumes a link in the transaction that sets the operator up. */
  async function consumeLink(tx: Tx, token: string): Promise<OperatorRow> {
    const operator = await findByLink(tx, token)
    await tx.delete(operatorTokens).where(eq(operatorTokens.operatorId, operator.id))
    return operator
  }

  async function storeLink(tx: Tx, operatorId: string, token: string) {
    const expiresAt = new Date(now().getTime() + LINK_LIFETIME_MS)
    const hash = sha256(token)
    await tx.delete(operatorTokens).where(eq(operatorTokens.operatorId, operatorId))
    await tx.insert(operatorTokens).values({ hash, purpose: 'link', operatorId, expiresAt })
  }

  async function clearCredentials(tx: Tx, operatorId: string) {
    const noPassword = { passwordHash: null, totpSecret: null, totpStep: null }
    await tx.update(operators).set(noPassword).where(eq(operators.id, operatorId))
    for (const table of [operatorPasskeys, operatorSessions, operatorRecoveryCodes]) {
      await tx.delete(table).where(eq(table.operatorId, operatorId))
    }
  }

  /** Whether an operator can sign in. */
  async function isSetUp(tx: Tx, id: string): Promise<boolean> {
    const operator = await find(tx, id)
    const isTheirs = eq(operatorPasskeys.operatorId, id)
    const passkeys = await tx.select().from(operatorPasskeys).where(isTheirs)
    return Boolean(operator?.passwordHash) || passkeys.length > 0
  }

  /** Throws `conflict` unless an owner other than `id` can sign in. */
  async function requireOtherOwner(tx: Tx, id: string) {
    const owners = await tx.select().from(operators).where(eq(operators.role, 'owner'))
    for (const owner of owners) if (owner.id !== id && (await isSetUp(tx, owner.id))) return
    throw new AppError(
      'conflict',
      'No other owner can sign in. Add another owner, who must open the invitation first.',
    )
  }

  async function findOrThrow(tx: Tx, name: string): Promise<OperatorRow> {
    const operator = await byName(tx, name)
    if (!operator) throw new AppError('not_found', `There is no operator ${name}.`)
    return operator
  }

  async function byName(from: Reader, name: string): Promise<OperatorRow | undefined> {
    const [row] = await from.select().from(operators).where(eq(operators.name, name))
    return row
  }
}

/** 256 random bits for a link, a challenge or a session. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

function linkRefused(): AppError {
  return new AppError(
    'unauthenticated',
    'This link no longer works: it was used, replaced, or is older than 30 minutes.',
    { denial: { reason: 'unknown_token' } },
  )
}

function ownReset(name: string): AppError {
  return new AppError(
    'conflict',
    `Another owner can reset your sign-in, or run "homeport operators reset ${name}" on the server.`,
  )
}
