import { and, desc, eq, isNull, lt, not, or, type SQL, sql } from 'drizzle-orm'
import { sha256 } from '../../lib/crypto/hash.ts'
import { AppError } from '../../lib/errors.ts'
import type { Role } from '../../lib/roles.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
import type { Tx } from '../../platform/db/db.ts'
import { newToken } from './accounts.ts'
import type { OperatorsDb } from './schema.ts'

/** A signed-in operator. `provenAt`: when they last used a passkey or a code. `isLocal`: works on this machine only. */
export type OperatorSession = {
  id: string
  operatorId: string
  name: string
  role: Role
  provenAt: Date
  isLocal: boolean
}

/** The credential that opened or proved a session: a passkey's id, or one of these. */
type Credential = string
/** A password or a code. */
export const PASSWORD: Credential = 'password'
export const DEMO_LINK: Credential = 'demo link'

export type Browser = { device: string; ip: string }

type OperatorSessionsDeps = { db: OperatorsDb; now: () => Date; newId: () => string }

export type OperatorSessions = ReturnType<typeof createOperatorSessions>

const IDLE_LIFETIME_MS = 12 * HOUR_MS
const MAX_LIFETIME_MS = 7 * DAY_MS

/** Console sessions. They end after 12 hours without use, and 7 days after the sign-in. */
export function createOperatorSessions({ db, now, newId }: OperatorSessionsDeps) {
  const { operators, operatorSessions } = db.tables
  let acceptsDemo = false
  return { acceptDemo, open, check, isOpen, prove, end, endOpenedWith, list, sweep }

  /** Accepts sessions from the `serve --demo` link, which has no other proof to ask for, until the process ends. */
  function acceptDemo() {
    acceptsDemo = true
  }

  /** Returns the token for the cookie. */
  async function open(
    tx: Tx,
    operatorId: string,
    credential: Credential,
    { device, ip }: Browser,
  ): Promise<string> {
    const token = newToken()
    const at = now()
    await tx.insert(operatorSessions).values({
      hash: sha256(token),
      id: newId(),
      operatorId,
      device,
      ip,
      createdAt: at,
      lastSeenAt: at,
      provenAt: at,
      openedWith: credential,
      provenWith: credential,
    })
    return token
  }

  /** The session of a token; null if it has ended. `isUse`: whether it restarts the idle lifetime. */
  async function check(token: string, { isUse = true } = {}): Promise<OperatorSession | null> {
    const hash = sha256(token)
    const [row] = await db.read
      .select({
        id: operatorSessions.id,
        operatorId: operatorSessions.operatorId,
        createdAt: operatorSessions.createdAt,
        lastSeenAt: operatorSessions.lastSeenAt,
        provenAt: operatorSessions.provenAt,
        openedWith: operatorSessions.openedWith,
        name: operators.name,
        role: operators.role,
      })
      .from(operatorSessions)
      .innerJoin(operators, eq(operators.id, operatorSessions.operatorId))
      .where(eq(operatorSessions.hash, hash))
    if (!row) return null
    const at = now()
    const { id, operatorId, name, role, createdAt, lastSeenAt, provenAt } = row
    const isOver =
      isOlderThan(lastSeenAt, at, IDLE_LIFETIME_MS) || isOlderThan(createdAt, at, MAX_LIFETIME_MS)
    const isDemo = row.openedWith === DEMO_LINK
    if (isOver || (isDemo && !acceptsDemo)) return null
    if (isUse && isOlderThan(lastSeenAt, at, MINUTE_MS)) await recordUse(hash, at)
    const proof = { provenAt: isDemo ? at : provenAt, isLocal: isDemo }
    return { id, operatorId, name, role: role as Role, ...proof }
  }

  /** Ignores a failed write: operators need the console most while the disk is full or locked. */
  async function recordUse(hash: string, at: Date) {
    try {
      await db.write(async (tx) => {
        const seen = { lastSeenAt: at }
        await tx.update(operatorSessions).set(seen).where(eq(operatorSessions.hash, hash))
      })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
    }
  }

  /** In the caller's transaction. */
  async function isOpen(tx: Tx, id: string): Promise<boolean> {
    return (await tx.$count(operatorSessions, eq(operatorSessions.id, id))) > 0
  }

  /** In the caller's transaction. */
  async function prove(tx: Tx, id: string, credential: Credential) {
    const proof = { provenAt: now(), provenWith: credential }
    await tx.update(operatorSessions).set(proof).where(eq(operatorSessions.id, id))
  }

  /** Throws `not_found` for another operator's session. */
  async function end(operatorId: string, id: string): Promise<Browser> {
    const [ended] = await db.write((tx) =>
      tx
        .delete(operatorSessions)
        .where(and(eq(operatorSessions.id, id), eq(operatorSessions.operatorId, operatorId)))
        .returning({ device: operatorSessions.device, ip: operatorSessions.ip }),
    )
    if (!ended) throw new AppError('not_found', 'This session has already ended.')
    return ended
  }

  /**
   * In the transaction that removes a passkey: ends sessions that it opened or that have no recorded credential, and
   * voids its proofs in other sessions. Returns how many ended.
   */
  async function endOpenedWith(tx: Tx, operatorId: string, passkeyId: string): Promise<number> {
    const isTheirs = eq(operatorSessions.operatorId, operatorId)
    const { openedWith, provenWith } = operatorSessions
    const ended = await tx
      .delete(operatorSessions)
      .where(and(isTheirs, or(eq(openedWith, passkeyId), isNull(openedWith))))
      .returning({ id: operatorSessions.id })
    await tx
      .update(operatorSessions)
      .set({ provenAt: new Date(0) })
      .where(and(isTheirs, eq(provenWith, passkeyId)))
    return ended.length
  }

  /** Most recently used first. */
  async function list(operatorId: string) {
    const rows = await db.read
      .select()
      .from(operatorSessions)
      .where(and(eq(operatorSessions.operatorId, operatorId), not(hasEnded())))
      .orderBy(desc(operatorSessions.lastSeenAt), desc(operatorSessions.id))
    return rows.map(({ id, device, ip, createdAt, lastSeenAt }) => ({
      id,
      device,
      ip,
      createdAt: createdAt.toISOString(),
      lastSeenAt: lastSeenAt.toISOString(),
    }))
  }

  async function sweep() {
    await db.write((tx) => tx.delete(operatorSessions).where(hasEnded()))
  }

  function hasEnded(): SQL {
    const at = now().getTime()
    return sql`(${or(
      lt(operatorSessions.lastSeenAt, new Date(at - IDLE_LIFETIME_MS)),
      lt(operatorSessions.createdAt, new Date(at - MAX_LIFETIME_MS)),
    )})`
  }
}

function isOlderThan(time: Date, now: Date, ms: number): boolean {
  return now.getTime() - time.getTime() > ms
}
