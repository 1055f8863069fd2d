import { isNotNull } from 'drizzle-orm'
import { type ActiveSubscription, filterCharged } from '../../lib/active-subscriptions.ts'
import type { Log } from '../../lib/log/log.ts'
import type { Passwords } from '../../lib/passwords/passwords.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { SendMail } from '../../platform/outbox/mailer.ts'
import { createAccountSecurity } from './accounts/account-security.ts'
import type { Accounts } from './accounts/accounts.ts'
import { createDirectory } from './accounts/directory.ts'
import { createGuests } from './accounts/guests.ts'
import { createNotes } from './accounts/notes.ts'
import { createSignInMethods } from './accounts/sign-in-methods.ts'
import { createSignUp, type SignUpMode } from './accounts/sign-up.ts'
import { createEmailCodes } from './credentials/email-codes.ts'
import { createHashKinds } from './credentials/hash-kinds.ts'
import { createKnownOrigins } from './credentials/known-origins.ts'
import { createOneTimeTokens } from './credentials/one-time-tokens.ts'
import { createOwnerProof } from './credentials/owner-proof.ts'
import { createPasswordLogin } from './credentials/password-login.ts'
import { createPasswordProof } from './credentials/password-proof.ts'
import { createEmailAddresses, type MailLinks } from './email/email-addresses.ts'
import type { PublishedEmails } from './email/emails.ts'
import type { MailContent } from './email/mail-kinds.ts'
import { alertMail } from './email/mail-layout.ts'
import { createNotices } from './email/notices.ts'
import { PRIORITY, type UserOutbox } from './email/outbox-messages.ts'
import { createImporter } from './import/importer.ts'
import { createPasskeyLogin } from './passkeys/passkey-login.ts'
import { createUserPasskeys, type RelyingParty } from './passkeys/passkeys.ts'
import { createWebOrigins } from './passkeys/web-origins.ts'
import type { UserProfile } from './profile/model.ts'
import type { UsersDb } from './schema.ts'
import { createDevices } from './sessions/devices.ts'
import { createLastSeen } from './sessions/last-seen.ts'
import { createSessionEndings } from './sessions/session-endings.ts'
import { createSessions } from './sessions/sessions.ts'
import { createSignIn } from './sessions/sign-in.ts'
import type { Tokens } from './sessions/tokens.ts'
import type { AppleGrants } from './social/apple-grants.ts'
import { createAppleNotifications } from './social/apple-notifications.ts'
import type { Identities } from './social/identities.ts'
import type {
  AcceptsIdentity,
  IdentityProviders,
  VerifyIdToken,
} from './social/identity-providers.ts'
import { createSocialLogin } from './social/social-login.ts'
import { createTwoFactor } from './two-factor/two-factor.ts'

type UsersDeps = {
  db: UsersDb
  accounts: Accounts
  identities: Identities
  outbox: UserOutbox
  tokens: Tokens
  limits: Limits
  sealKey: Uint8Array
  recoveryKey: Uint8Array
  passwordMinLength: number
  signUpMode: SignUpMode
  relyingParty: RelyingParty
  passwords: Passwords
  appName: string
  /** Null if there is none. */
  alertEmail: string | null
  links: MailLinks
  sendMail: SendMail
  renderMail: PublishedEmails['render']
  verifyIdToken: VerifyIdToken
  acceptsIdentity: AcceptsIdentity
  /** The OpenID Connect provider: its issuer (null if there is none) and its name. */
  openId: { issuer: string | null; name: string }
  appleGrants: AppleGrants | null
  apple: IdentityProviders['apple']
  readProfile: (userId: string, baseUrl: string) => Promise<UserProfile>
  mergeGuest: (tx: Tx, guestId: string, userId: string) => Promise<void>
  deleteAccount: (userId: string) => Promise<unknown>
  hasRecentAssets: (userId: string, since: Date) => Promise<boolean>
  onSessionsEnded: (tx: Tx, sessions: { id: string; userId: string }[]) => Promise<void>
  now: () => Date
  newId: () => string
  log: Log
}

export type Users = ReturnType<typeof createUsers>

export function createUsers(deps: UsersDeps) {
  const { db, accounts, identities, outbox, limits, appName, links, recoveryKey: key } = deps
  const { sendMail, renderMail, appleGrants, openId, alertEmail, log } = deps
  const endings = createSessionEndings(deps)
  const oneTimeTokens = createOneTimeTokens(deps)
  const devices = createDevices({ ...deps, endings, oneTimeTokens })
  const knownOrigins = createKnownOrigins({ ...deps, devices })
  const notices = createNotices(deps)
  const hashKinds = createHashKinds(deps)
  const proof = createPasswordProof({ ...deps, hashKinds, knownOrigins })
  const accountSecurity = createAccountSecurity({ ...deps, endings, oneTimeTokens })
  const ownerProof = createOwnerProof({ ...deps, proof })
  const notes = createNotes(deps)
  const signInMethods = createSignInMethods(deps)
  const signUp = createSignUp({
    ...deps,
    mode: deps.signUpMode,
    oneTimeTokens,
    links,
  })
  const isLimited = limits.isOn
  const lastSeen = createLastSeen(deps)
  const sessions = createSessions({ ...deps, isLimited, endings, lastSeen, onTokenReuse })
  const twoFactor = createTwoFactor({ ...deps, issuer: appName, ownerProof, accountSecurity })
  const signIn = createSignIn({
    ...deps,
    sessions,
    devices,
    knownOrigins,
    endings,
    oneTimeTokens,
    twoFactor,
    notices,
  })
  const security = { oneTimeTokens, notices, accountSecurity, signInMethods, signUp, twoFactor }
  const addresses = createEmailAddresses({ ...deps, ...security })
  const passwordLogin = createPasswordLogin({ ...deps, ...security, addresses, proof, signIn })
  const emailCodes = createEmailCodes({ ...deps, ...security, knownOrigins, signIn, key })
  const passkeys = createUserPasskeys({ ...deps, ...security, proof, ownerProof })
  const passkeyLogin = createPasskeyLogin({ ...deps, oneTimeTokens, signIn, key })
  const guests = createGuests({ ...deps, signIn, signUp, checkSession: sessions.check })
  const socialLogin = createSocialLogin({
    ...deps,
    ...security,
    addresses,
    signIn,
    openIdName: openId.name,
  })
  const appleNotifications = createAppleNotifications({ ...deps, ...security })
  const directory = createDirectory({ db, accounts })
  const importer = createImporter({ ...deps, ...accounts, hashKinds, issuer: openId.issuer })
  outbox.deliverWith(async (message, signal) => {
    if (message.kind === 'mail') await mailUser(message, signal)
    else if (message.kind === 'alert') await sendMail(alertMail(message, appName), signal)
    else if (message.kind === 'email-code') {
      const mail = await emailCodes.buildMail(message)
      if (mail) await mailUser(mail, signal)
    } else if (message.kind === 'forgotten-password')
      await addresses.sendReset(message.email, message.ip ?? null)
    else await appleGrants?.revoke(message.token, message.clientId, signal)
  })
  return {
    accounts,
    addresses,
    appleNotifications,
    devices,
    directory,
    emailCodes,
    guests,
    identities,
    importer,
    lastSeen,
    notes,
    oneTimeTokens,
    outbox,
    ownerProof,
    passkeyLogin,
    passkeys,
    passwordLogin,
    proof,
    accountSecurity,
    sessions,
    signIn,
    signUp,
    socialLogin,
    twoFactor,
    webOrigins: createWebOrigins(deps.relyingParty, log),
    clearUnreadableSecrets,
    notifyOfMovedPurchase,
    notifyOfCharges,
    alertOperators,
  }

  async function mailUser(mail: MailContent & { to: string }, signal: AbortSignal) {
    const { to } = mail
    if (await appleNotifications.isMailable(to))
      await sendMail({ to, ...(await renderMail(mail)) }, signal)
  }

  /** Clears data that was sealed with lost secrets and can no longer be unsealed. */
  async function clearUnreadableSecrets(lost: string[]) {
    const { users, identities: links, recoveryCodes } = db.tables
    await db.write(async (tx) => {
      const isSealKeyLost = lost.includes('seal.key')
      if (isSealKeyLost) {
        await outbox.clear(tx)
        await tx.update(links).set({ grant: null })
        await tx.update(users).set({ twoFactorSecret: null })
      }
      if (!lost.includes('recovery-code.key')) return
      await tx.delete(recoveryCodes)
      // Without codes of either kind no user could pass the second step.
      if (isSealKeyLost) {
        await tx.update(users).set({ twoFactorSince: null }).where(isNotNull(users.twoFactorSince))
      }
    })
  }

  /** Tells a user that a purchase has moved to another account. */
  async function notifyOfMovedPurchase(tx: Tx, userId: string, productId: string) {
    const user = await accounts.find(tx, userId)
    await notices.enqueueNotice(tx, user, 'purchase-moved', { detail: productId })
  }

  /** Tells a user whose account is being deleted what the stores keep charging for. */
  async function notifyOfCharges(tx: Tx, userId: string, active: ActiveSubscription[]) {
    const names = filterCharged(active).map(({ name }) => name)
    if (names.length === 0) return
    // Without the id, because deleting the account deletes its queued e-mails.
    const user = { ...(await accounts.find(tx, userId)), id: null }
    await notices.enqueueNotice(tx, user, 'subscription-goes-on', { detail: names.join(', ') })
  }

  async function alertOperators(tx: Tx, subject: string, text: string) {
    if (alertEmail === null) return
    const handling = { priority: PRIORITY.notice, userId: null, source: 'alert' }
    await outbox.add(tx, { kind: 'alert', to: alertEmail, subject, text }, handling)
  }

  async function onTokenReuse(
    tx: Tx,
    session: { userId: string; sessionId: string; device: string },
  ) {
    const { userId, sessionId, device } = session
    tx.afterCommit(() => {
      log.warn({ userId, sessionId }, 'refresh token reuse: the session is ended')
    })
    await oneTimeTokens.revoke(tx, userId)
    await notices.enqueueNotice(tx, await accounts.find(tx, userId), 'token-reused', {
      detail: device,
    })
  }
}
