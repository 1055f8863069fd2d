import { and, eq } from 'drizzle-orm'
import { wrongCode } from '../../../lib/errors.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { Device } from '../../../platform/http/request/request-headers.ts'
import type { Account } from '../accounts/accounts.ts'
import type { UsersContext } from '../context/context.ts'
import type { AttemptOrigin, KnownOrigins } from '../credentials/known-origins.ts'
import { LIFETIME_MS, type OneTimeTokens, readBearerId } from '../credentials/one-time-tokens.ts'
import type { Notices } from '../email/notices.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'
import type { Devices } from './devices.ts'
import type { SessionEndings } from './session-endings.ts'
import type { Sessions, TokenGrant } from './sessions.ts'
import { ACCESS_TOKEN_TTL_SECONDS, notSignedIn } from './tokens.ts'

/** Where a request comes from. `baseUrl`: the base of file URLs in the response. */
export type RequestOrigin = AttemptOrigin & { device: DeviceAt; baseUrl: string }

/** A device, with its IP address if known. */
type DeviceAt = Device & { ip?: string }

type SignInDeps = UsersContext & {
  sessions: Sessions
  devices: Devices
  knownOrigins: KnownOrigins
  endings: SessionEndings
  oneTimeTokens: OneTimeTokens
  twoFactor: TwoFactor
  notices: Notices
}

/** The outcome of a completed first step: a session, or a two-factor challenge. */
type SignInResult = { grant: TokenGrant } | { challengeToken: string }

export type SignIn = ReturnType<typeof createSignIn>

export function createSignIn(deps: SignInDeps) {
  const { db, accounts, sessions, endings, devices, tokens, oneTimeTokens, twoFactor, notices } =
    deps
  const { knownOrigins, mergeGuest, readProfile } = deps
  const { users } = db.tables
  return {
    finishSignIn,
    openSession,
    openSessionFor,
    toSessionReply,
    toSignInReply,
    passChallenge,
    refresh,
  }

  /** Opens a session or, with two-factor on, issues a challenge, which remembers the guest to merge later. */
  async function finishSignIn(
    tx: Tx,
    user: Account,
    device: DeviceAt,
    bearerId: string | null,
  ): Promise<SignInResult> {
    if (user.twoFactorSince !== null) {
      return {
        challengeToken: await oneTimeTokens.issue(tx, 'two-factor', user.id, null, bearerId),
      }
    }
    return { grant: await openSessionFor(tx, user, device, bearerId) }
  }

  /** Opens a session for a user who has passed every step, and merges the guest whose token was sent. */
  async function openSessionFor(tx: Tx, user: Account, device: DeviceAt, bearerId: string | null) {
    await mergeIfGuest(tx, bearerId, user.id)
    return openSession(tx, user, device)
  }

  async function mergeIfGuest(tx: Tx, bearerId: string | null, userId: string) {
    if (bearerId === null || bearerId === userId) return
    const isGuest = and(eq(users.id, bearerId), eq(users.loginType, 'guest'))
    const [guest] = await tx.select({ id: users.id }).from(users).where(isGuest)
    if (guest) await mergeGuest(tx, guest.id, userId)
  }

  /** The response for a sign-in result, after the commit. */
  async function toSignInReply(result: SignInResult, baseUrl: string) {
    if ('grant' in result)
      return { code: 'ok', response: await toSessionReply(result.grant, baseUrl) }
    const { challengeToken } = result
    const expiresIn = LIFETIME_MS['two-factor'] / 1000
    const methods = ['totp', 'recovery_code']
    return { code: 'two_factor_required', response: { challengeToken, methods, expiresIn } }
  }

  /** Completes a two-factor sign-in, with five attempts per challenge. */
  async function passChallenge(
    challengeToken: string,
    code: string,
    { device, baseUrl }: Pick<RequestOrigin, 'device' | 'baseUrl'>,
    bearerId: string | null,
  ) {
    const challenge = await oneTimeTokens.find(db.read, 'two-factor', challengeToken)
    if (!challenge) throw notSignedIn({ reason: 'unknown_token' })
    const reservation = await twoFactor.reserve(challenge.userId, code)
    const grant = await db.write(async (tx) => {
      const pending = await oneTimeTokens.find(tx, 'two-factor', challengeToken)
      if (!pending) throw notSignedIn({ reason: 'unknown_token' })
      if (!(await twoFactor.check(tx, pending.userId, code))) {
        await oneTimeTokens.countFailure(tx, pending)
        return null
      }
      await oneTimeTokens.consume(tx, 'two-factor', challengeToken)
      await reservation.release(tx)
      const user = await accounts.find(tx, pending.userId)
      return openSessionFor(tx, user, device, bearerId ?? readBearerId(challengeToken))
    })
    if (grant === null) throw wrongCode(challenge.userId)
    return toSessionReply(grant, baseUrl)
  }

  async function refresh(refreshToken: string, { device, baseUrl }: RequestOrigin) {
    return toSessionReply(await sessions.refresh(refreshToken, device), baseUrl)
  }

  /** In the caller's transaction. */
  async function openSession(tx: Tx, user: Account, device: DeviceAt): Promise<TokenGrant> {
    if (device.ip && user.loginType !== 'guest') await knownOrigins.remember(tx, user.id, device.ip)
    await endings.evictOldest(tx, user.id)
    const isNew = await devices.remember(tx, user.id, device.name)
    if (isNew) await notices.enqueueNotice(tx, user, 'new-device', { detail: device.name })
    return sessions.open(tx, user, device)
  }

  /** The response with a session's tokens, after the commit. */
  async function toSessionReply(grant: TokenGrant, baseUrl: string) {
    return {
      accessToken: tokens.mintAccess(grant),
      refreshToken: grant.refreshToken,
      tokenType: 'Bearer',
      expiresIn: ACCESS_TOKEN_TTL_SECONDS,
      user: await readProfile(grant.userId, baseUrl),
    }
  }
}
