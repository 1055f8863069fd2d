import { and, eq, gte, lt, notExists } from 'drizzle-orm'
import { AppError } from '../../../lib/errors.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { keyRanges } from '../../../platform/db/key-ranges.ts'
import type { WindowRule } from '../../../platform/limits/limits.ts'
import type { SignInContext } from '../context/sign-in-context.ts'
import type { RequestOrigin } from '../sessions/sign-in.ts'
import type { AccountDefaults } from './accounts.ts'

const PER_IP: WindowRule = { name: 'guest', max: 'guests', seconds: 60 * 60 }
const IDLE_DAYS = 90

export function createGuests(deps: SignInContext) {
  const { db, accounts, signIn, signUp, limits, now, deleteAccount, hasRecentAssets } = deps
  const { check: checkSession } = deps.sessions
  const { users, sessions, knownDevices } = db.tables
  return { create, readBearerUserId, readBearerUserIdIfValid, sweep }

  async function create(defaults: AccountDefaults, { ip, device, baseUrl }: RequestOrigin) {
    await limits.reserve([{ rule: PER_IP, key: ip }])
    const grant = await db.write(async (tx) => {
      await signUp.requireOpen(tx, null)
      const guest = await accounts.create(tx, 'guest', defaults)
      return signIn.openSession(tx, guest, device)
    })
    return signIn.toSessionReply(grant, baseUrl)
  }

  /** The id of the bearer token's user, who may be a guest; null if there is no token. */
  async function readBearerUserId(token: string | null, sealed: boolean): Promise<string | null> {
    return token ? (await checkSession(token, sealed)).userId : null
  }

  /** Null for a refused token: apps send whatever token they have with a sign-in, even an expired one. */
  function readBearerUserIdIfValid(token: string | null, sealed: boolean): Promise<string | null> {
    return readBearerUserId(token, sealed).catch((error) => {
      const isRefused =
        error instanceof AppError && (error.denial || error.code === 'encryption_required')
      if (isRefused) return null
      throw error
    })
  }

  /** Deletes guests without activity, a new file or access from a purchase in the last 90 days. */
  async function sweep(signal: AbortSignal) {
    const cutoff = new Date(now().getTime() - IDLE_DAYS * DAY_MS)
    const wasUsed = and(eq(sessions.userId, users.id), gte(sessions.lastUsedAt, cutoff))
    const wasSeen = and(eq(knownDevices.userId, users.id), gte(knownDevices.seenAt, cutoff))
    const recentSessions = db.read.select().from(sessions).where(wasUsed)
    const recentDevices = db.read.select().from(knownDevices).where(wasSeen)
    for await (const range of keyRanges(db.read, users, users.id)) {
      const isIdle = and(eq(users.loginType, 'guest'), lt(users.updatedAt, cutoff))
      const idle = await db.read
        .select({ id: users.id })
        .from(users)
        .where(and(range, isIdle, notExists(recentSessions), notExists(recentDevices)))
      for (const { id } of idle) {
        if (signal.aborted) return
        if (!(await hasRecentAssets(id, cutoff))) await deleteAccount(id)
      }
    }
  }
}
