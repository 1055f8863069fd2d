import { isNotNull } from 'drizzle-orm'
import { type ActiveSubscription, filterCharged } from '../../lib/active-subscriptions.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { SendMail } from '../../platform/outbox/mailer.ts'
import { createAccountSecurity } from './accounts/account-security.ts'
import { createDirectory } from './accounts/directory.ts'
import { createGuests } from './accounts/guests.ts'
import { createNotes } from './accounts/notes.ts'
import { createSignInMethods } from './accounts/sign-in-methods.ts'
import { createSignUp } from './accounts/sign-up.ts'
import type { UsersContext } from './context/context.ts'
import type { SignInContext } from './context/sign-in-context.ts'
import { createEmailCodes } from './credentials/email-codes.ts'
import { createHashKinds } from './credentials/hash-kinds.ts'
import { createKnownOrigins } from './credentials/known-origins.ts'
import { createOneTimeTokens } from './credentials/one-time-tokens.ts'
import { createOwnerProof } from './credentials/owner-proof.ts'
import { createPasswordLogin } from './credentials/password-login.ts'
import { createPasswordProof } from './credentials/password-proof.ts'
import { createEmailAddresses } from './email/email-addresses.ts'
import type { PublishedEmails } from './email/emails.ts'
import type { MailContent } from './email/mail-kinds.ts'
import { alertMail } from './email/mail-layout.ts'
import { createNotices } from './email/notices.ts'
import { PRIORITY } from './email/outbox-messages.ts'
import { createImporter } from './import/importer.ts'
import { createPasskeyLogin } from './passkeys/passkey-login.ts'
import { createUserPasskeys } from './passkeys/passkeys.ts'
import { createWebOriginGuard } from './passkeys/web-origin-guard.ts'
import { createDevices } from './sessions/devices.ts'
import { createLastSeen } from './sessions/last-seen.ts'
import { createSessionEndings } from './sessions/session-endings.ts'
import { createSessions } from './sessions/sessions.ts'
import { createSignIn } from './sessions/sign-in.ts'
import { createAppleNotifications } from './social/apple-notifications.ts'
import { createSocialLogin } from './social/social-login.ts'
import { createTwoFactor } from './two-factor/two-factor.ts'

type UsersDeps = UsersContext & {
  /** Null if there is none. */
  alertEmail: string | null
  sendMail: SendMail
  renderMail: PublishedEmails['render']
}

export type Users = ReturnType<typeof createUsers>

export function createUsers(deps: UsersDeps) {
  const { db, accounts, identities, outbox, appName, log } = deps
  const { sendMail, renderMail, appleGrants, alertEmail } = deps
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
  const signUp = createSignUp({ ...deps, oneTimeTokens })
  const lastSeen = createLastSeen(deps)
  const sessions = createSessions({ ...deps, endings, lastSeen, onTokenReuse })
  const twoFactor = createTwoFactor({ ...deps, ownerProof, accountSecurity })
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
  const addresses = createEmailAddresses({ ...deps, oneTimeTokens, notices, accountSecurity })
  const signInContext: SignInContext = {
    ...deps,
    oneTimeTokens,
    notices,
    accountSecurity,
    addresses,
    knownOrigins,
    signInMethods,
    signUp,
    twoFactor,
    sessions,
    signIn,
    proof,
    ownerProof,
  }
  const passwordLogin = createPasswordLogin(signInContext)
  const emailCodes = createEmailCodes(signInContext)
  const passkeys = createUserPasskeys(signInContext)
  const passkeyLogin = createPasskeyLogin(signInContext)
  const guests = createGuests(signInContext)
  const socialLogin = createSocialLogin(signInContext)
  const appleNotifications = createAppleNotifications(signInContext)
  const directory = createDirectory(deps)
  const importer = createImporter({ ...deps, hashKinds })
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
    webOriginGuard: createWebOriginGuard(deps.relyingParty, log),
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
      // Without codes of either kind no user could complete a two-factor sign-in.
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
      log.warn({ userId, sessionId }, 'refresh token reuse: the session has been ended')
    })
    await oneTimeTokens.revoke(tx, userId)
    await notices.enqueueNotice(tx, await accounts.find(tx, userId), 'token-reused', {
      detail: device,
    })
  }
}
