import { and, eq } from 'drizzle-orm'
import { jwtVerify } from 'jose'
import { isUnreachable } from '../../../lib/crypto/remote-keys.ts'
import { AppError } from '../../../lib/errors.ts'
import { toEmailKey } from '../../../lib/text/email-address.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { WindowRule } from '../../../platform/limits/limits.ts'
import type { SignInContext } from '../context/sign-in-context.ts'
import { isText, toTokenRules, unreachable } from './identity-providers.ts'
import { parseObject } from './openid-keys.ts'

type Notification = { id: string; type: unknown; subject: string; at: Date }

const REFUSED_PER_IP: WindowRule = { name: 'apple-notification', max: 100, seconds: 5 * 60 }
/** How long a repeated notification is recognized. */
const REMEMBERED_MS = 365 * DAY_MS
/** Larger numbers are milliseconds, although Apple documents seconds. */
const MAX_SECONDS = 1e11

/** https://developer.apple.com/documentation/signinwithapple/processing-changes-for-sign-in-with-apple-accounts */
export function createAppleNotifications(deps: SignInContext) {
  const { db, apple, oneTimeTokens, accountSecurity, signInMethods, limits, now, log } = deps
  const { identities: links, users } = db.tables
  const { issuers: issuer, clientIds: audience, algorithms, keys } = toTokenRules(apple)
  const rules = { algorithms, issuer, audience, clockTolerance: 60 }
  return { receive, isMailable }

  /** Applies a signed notification once. Returns the outcome. */
  async function receive(payload: unknown, ip: string): Promise<'ok' | 'duplicate' | 'ignored'> {
    const { release } = await limits.reserve([{ rule: REFUSED_PER_IP, key: ip }])
    const notification = await verify(payload)
    return db.write(async (tx) => {
      await release(tx)
      const until = new Date(now().getTime() + REMEMBERED_MS)
      if (!(await oneTimeTokens.markUsed(tx, 'apple-notification', notification.id, until)))
        return 'duplicate'
      return (await apply(tx, notification)) ? 'ok' : 'ignored'
    })
  }

  async function verify(jws: unknown): Promise<Notification> {
    if (audience.length === 0) throw notFromApple()
    const { payload } = await jwtVerify(String(jws), keys, { ...rules, currentDate: now() }).catch(
      (error) => {
        throw isUnreachable(error) ? unreachable(error) : notFromApple()
      },
    )
    const { jti = jws, events } = payload
    // Apple documents an object, but sends a string of JSON.
    const event = parseObject(typeof events === 'string' ? events : JSON.stringify(events ?? null))
    if (event === null || !isText(event['sub'])) throw notFromApple()
    const ms = Number(event['event_time']) * (Number(event['event_time']) < MAX_SECONDS ? 1_000 : 1)
    const at = new Date(ms)
    const time = Number.isNaN(at.getTime()) ? now() : at
    return { id: `apple.${jti}`, type: event['type'], subject: event['sub'], at: time }
  }

  /** Returns whether the notification concerns a linked account. */
  async function apply(tx: Tx, { type, subject, at }: Notification): Promise<boolean> {
    const isSame = and(eq(links.provider, 'apple'), eq(links.subject, subject))
    const [link] = await tx.select().from(links).where(isSame)
    if (!link) return false
    if (type === 'email-disabled' || type === 'email-enabled') {
      if (link.mailEventAt !== null && link.mailEventAt > at) return false
      const mailDisabled = type === 'email-disabled'
      await tx.update(links).set({ mailDisabled, mailEventAt: at }).where(isSame)
      return true
    }
    if (type !== 'consent-revoked' && type !== 'account-delete') return false
    await tx.delete(links).where(isSame)
    const hasOther = await signInMethods.updateLoginType(tx, link.userId)
    // A user who consents again has the same id at Apple, and must not lose the account.
    if (!hasOther && type === 'consent-revoked')
      await tx.insert(links).values({ ...link, grant: null })
    await accountSecurity.secure(tx, link.userId, null)
    tx.afterCommit(() => log.info({ userId: link.userId, type }, 'Apple has ended a sign-in'))
    return true
  }

  /** False if Apple no longer forwards e-mails to the address. */
  async function isMailable(address: string): Promise<boolean> {
    const key = toEmailKey(address)
    const rows = await db.read
      .select({ email: links.email })
      .from(links)
      .innerJoin(users, eq(users.id, links.userId))
      .where(and(eq(users.emailKey, key), eq(links.mailDisabled, true)))
    return !rows.some(({ email }) => email !== null && toEmailKey(email) === key)
  }
}

function notFromApple(): AppError {
  return new AppError('unauthenticated', 'The notification is not signed by Apple for this app.', {
    denial: { reason: 'forged' },
  })
}
