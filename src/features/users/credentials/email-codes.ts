import { equalInConstantTime, hmac } from '../../../lib/crypto/hash.ts'
import { AppError } from '../../../lib/errors.ts'
import { plainCode } from '../../../lib/passwords/recovery-codes.ts'
import { toEmailKey } from '../../../lib/text/email-address.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { Limit, WindowRule } from '../../../platform/limits/limits.ts'
import type { Account, AccountDefaults } from '../accounts/accounts.ts'
import type { SignInContext } from '../context/sign-in-context.ts'
import { requestedMailLimit, requireMailbox } from '../email/email-addresses.ts'
import { type CodeMessage, PRIORITY } from '../email/outbox-messages.ts'
import type { RequestOrigin } from '../sessions/sign-in.ts'
import type { AttemptOrigin } from './known-origins.ts'
import { type CodePurpose, LIFETIME_MS } from './one-time-tokens.ts'

type SubmittedCode = { requestToken: string; code: string }

/** Keeps the chance of guessing a code of one account below 1 % in a year. */
const WRONG_PER_ADDRESS: WindowRule = { name: 'email-code', max: 20, seconds: 24 * 60 * 60 }
const PER_IP: WindowRule = { name: 'email-code-address', max: 'failures', seconds: 5 * 60 }
/** Separate from `networkMailLimit`, so that codes do not use up the password resets of a network. */
const ALL_MAILS_PER_NETWORK: WindowRule = {
  name: 'code-mail-source',
  max: 'mails',
  seconds: 60 * 60,
}
/** For e-mails to one address that one network requests, so that a stranger cannot use up the owner's limit. */
const MAILS_PER_NETWORK: WindowRule = { name: 'code-mail-network', max: 3, seconds: 60 * 60 }
const MAILS_PER_ADDRESS: WindowRule = { name: 'code-mail', max: 10, seconds: 60 * 60 }

/**
 * The device that requests a code gets a secret token, from which the code is derived. The only copy of the code is in
 * the queued e-mail, and it is useless on other devices.
 */
export function createEmailCodes(deps: SignInContext) {
  const { db, accounts, accountSecurity, oneTimeTokens, signIn, signUp } = deps
  const { knownOrigins, outbox, limits, recoveryKey: key, now } = deps
  return { request, buildMail, signInWith, prove, listLimits, deriveCode }

  /** Queues the e-mail with a code. The response and its timing are the same whether the account exists or not. */
  async function request(
    email: string,
    locale: string,
    origin: AttemptOrigin,
    purpose: CodePurpose = 'email-code',
  ) {
    requireMailbox(email)
    await limits.reserve(await mailLimits(email, origin))
    const requestToken = await db.write(async (tx) => {
      const token = await oneTimeTokens.issueOpen(tx, purpose, email)
      const until = now().getTime() + LIFETIME_MS[purpose]
      const content = { email, locale, code: deriveCode(token), until, purpose }
      const message = { kind: 'email-code', ...content } as const
      await outbox.add(tx, message, { priority: PRIORITY.reset, userId: null, source: origin.ip })
      return token
    })
    return { requestToken, expiresIn: LIFETIME_MS[purpose] / 1000 }
  }

  /** Null once the code has expired. */
  async function buildMail(message: CodeMessage) {
    const { email, locale, code, until, purpose = 'email-code' } = message
    if (until <= now().getTime()) return null
    const user = await accounts.findByEmail(db.read, email)
    if (user?.email) {
      const { email: to, locale, emailVerifiedAt } = user
      const name = emailVerifiedAt === null ? '' : user.name
      return { mail: purpose, to, locale, detail: code, name } as const
    }
    if (purpose === 'email-code' && (await signUp.isOpenTo(db.read, email)))
      return { mail: 'email-code', to: email, locale, detail: code } as const
    return { mail: 'no-account', to: email, locale, detail: email } as const
  }

  /** Signs in with a code, or creates the account if sign-up is open. Throws `invalid_credentials`. */
  async function signInWith(
    answer: SubmittedCode,
    defaults: AccountDefaults,
    origin: RequestOrigin,
    bearerId: string | null,
  ) {
    const result = await redeem('email-code', answer, origin, async (tx, email) => {
      const user = await findOrCreateAccount(tx, email, defaults, bearerId)
      return user && signIn.finishSignIn(tx, user, origin.device, bearerId)
    })
    return signIn.toSignInReply(result, origin.baseUrl)
  }

  /** Returns the account whose owner has entered the code. Throws `invalid_credentials`. */
  async function prove(answer: SubmittedCode, origin: RequestOrigin): Promise<Account> {
    return redeem('deletion-code', answer, origin, async (tx, email) => {
      return (await accounts.findByEmail(tx, email)) ?? null
    })
  }

  /** Consumes a code in the transaction of `work`, which gets its address and returns null to refuse it. */
  async function redeem<Result>(
    purpose: CodePurpose,
    { requestToken, code }: SubmittedCode,
    origin: RequestOrigin,
    work: (tx: Tx, email: string) => Promise<Result | null>,
  ): Promise<Result> {
    const { ip } = origin
    const found = await oneTimeTokens.find(db.read, purpose, requestToken)
    const perAddress = found?.emailKey ? [await wrongCodeLimit(found.emailKey, origin)] : []
    const mails = await mailLimits(found?.email ?? '', origin)
    const { release } = await limits.reserve([...perAddress, { rule: PER_IP, key: ip }])
    const result = await db.write(async (tx) => {
      const pending = await oneTimeTokens.find(tx, purpose, requestToken)
      if (!pending) return null
      if (!equalInConstantTime(plainCode(code), deriveCode(requestToken))) {
        await oneTimeTokens.countFailure(tx, pending)
        return null
      }
      await oneTimeTokens.consume(tx, purpose, requestToken)
      const email = pending.email ?? ''
      const outcome = await work(tx, email)
      if (outcome === null) return null
      await release(tx)
      const [perNetwork, ...others] = mails
      await limits.uncountOne(tx, perNetwork)
      for (const limit of others) await limits.resetCounter(tx, limit)
      return outcome
    })
    if (result === null) throw wrongCode()
    return result
  }

  async function wrongCodeLimit(emailKey: string, origin: AttemptOrigin): Promise<Limit> {
    return { rule: WRONG_PER_ADDRESS, key: await deriveAddressKey(emailKey, origin) }
  }

  async function mailLimits(
    email: string,
    origin: AttemptOrigin,
  ): Promise<[perNetwork: Limit, ...others: Limit[]]> {
    const { ip } = origin
    const emailKey = toEmailKey(email)
    return [
      { rule: ALL_MAILS_PER_NETWORK, key: ip },
      { rule: MAILS_PER_NETWORK, key: `${emailKey} ${ip}` },
      { rule: MAILS_PER_ADDRESS, key: await deriveAddressKey(emailKey, origin) },
    ]
  }

  /** Separate for a user's own device or network, so that a stranger cannot lock the owner out. */
  async function deriveAddressKey(emailKey: string, origin: AttemptOrigin): Promise<string> {
    const user = await accounts.findByEmail(db.read, emailKey)
    return (await knownOrigins.recognize(user?.id ?? '', origin)) ?? emailKey
  }

  /** The account with this address, otherwise the guest's or a new one; null if sign-up is closed. */
  async function findOrCreateAccount(
    tx: Tx,
    email: string,
    defaults: AccountDefaults,
    bearerId: string | null,
  ): Promise<Account | null> {
    const known = await accounts.findByEmail(tx, email)
    if (known?.emailVerifiedAt === null) return accountSecurity.claim(tx, known, 'email')
    if (known) return known
    if (!(await signUp.admit(tx, email))) return null
    const login = { email, emailKey: toEmailKey(email), emailVerifiedAt: now() }
    const user = bearerId === null ? null : await accounts.find(tx, bearerId)
    if (user?.loginType !== 'guest') return accounts.create(tx, 'email', defaults, login)
    const name = defaults.name === '' ? {} : { name: defaults.name }
    return accountSecurity.upgradeGuest(tx, user, 'email', { ...login, ...name })
  }

  function listLimits({ emailKey }: Account): Limit[] {
    if (emailKey === null) return []
    const perAddress = [WRONG_PER_ADDRESS, MAILS_PER_ADDRESS].map((rule) => ({
      rule,
      key: emailKey,
    }))
    return [...perAddress, requestedMailLimit(emailKey)]
  }

  function deriveCode(requestToken: string): string {
    const digest = Buffer.from(hmac(key, `email-code.${requestToken}`), 'base64url')
    return String(digest.readUIntBE(0, 6) % 1_000_000).padStart(6, '0')
  }
}

function wrongCode(): AppError {
  return new AppError(
    'invalid_credentials',
    'The code is wrong or has expired. Check it, or request a new one.',
    { denial: { reason: 'wrong_code' } },
  )
}
