import { join } from 'node:path'
import type { Config } from '../config.ts'
import { createAttachmentParts } from '../features/attachments/attachments.ts'
import { createDiskSpace } from '../features/attachments/storage/disk-space.ts'
import { createBillingParts } from '../features/billing/billing.ts'
import type { FoldingSizes } from '../features/billing/projection/checkpoints.ts'
import { createContent } from '../features/content/service.ts'
import type { Tables } from '../features/index.ts'
import { createOperators } from '../features/operators/operators.ts'
import { createPlans } from '../features/plans/service.ts'
import { feedOf } from '../features/rates/providers.ts'
import { createRates } from '../features/rates/service.ts'
import type { Peg } from '../features/rates/table.ts'
import { createSettings } from '../features/settings/service.ts'
import { createAccounts } from '../features/users/accounts/accounts.ts'
import type { UserOutbox } from '../features/users/email/outbox-messages.ts'
import { createProfile } from '../features/users/profile/service.ts'
import { createTokens } from '../features/users/sessions/tokens.ts'
import { APPLE_URL } from '../features/users/social/apple-grants.ts'
import { createIdentities } from '../features/users/social/identities.ts'
import {
  createIdTokenVerifier,
  type IdentityProviders,
  knownProviders,
} from '../features/users/social/identity-providers.ts'
import { createUsers } from '../features/users/users.ts'
import type { PasswordCost } from '../lib/argon2.ts'
import { newId, newKey } from '../lib/ids.ts'
import { createLiveLines, type LiveLines } from '../lib/live-lines.ts'
import type { Log } from '../lib/log.ts'
import { createPasswords, PASSWORD_COSTS } from '../lib/passwords.ts'
import type { TimerRun } from '../lib/timer.ts'
import type { OpenDb, Tx } from '../platform/db/db.ts'
import { createReplayGuard } from '../platform/encryption/replay-guard.ts'
import {
  createAddressOf,
  createIpOf,
  createNetworkCheck,
  createProxyCheck,
} from '../platform/http/client-ip.ts'
import { createCountryOf } from '../platform/http/country.ts'
import { createLimits } from '../platform/limits/limits.ts'
import { createOutbox } from '../platform/outbox/outbox.ts'
import type { Secrets } from '../secrets.ts'
import type { Backups } from '../usecases/admin/backups.ts'
import { appleGrantsOf } from '../usecases/apple-settings.ts'
import { createDeleteAccount } from '../usecases/delete-account.ts'
import { createExportData } from '../usecases/export-data.ts'
import { filesOf } from '../usecases/file-settings.ts'
import { createFindUsers } from '../usecases/find-users.ts'
import { createKeyRings } from '../usecases/key-rings.ts'
import { createMergeGuest } from '../usecases/merge-guest.ts'
import { type HostState, NO_HOST_STATE } from '../usecases/monitoring/host-state.ts'
import { createMonitoring } from '../usecases/monitoring/monitoring.ts'
import { consoleUrlOf, linksOf, mailerOf, publicUrl } from '../usecases/public-settings.ts'
import { BUILD } from '../version.ts'

export type ServicesDeps = {
  config: Config
  secrets: Secrets
  db: OpenDb<Tables>
  log: Log
  pegs: Peg[]
  /** The command line of the image worker. */
  imageCommand: string[]
  now?: () => Date
  /** Where identity providers are; only tests say others. */
  providers?: IdentityProviders
  appleUrl?: string
  /** Since when a server runs on these services; null for a command that does without one. */
  servingSince?: Date | null
  host?: HostState
  /** The end of the log, where a server writes one. */
  liveLines?: LiveLines
  /** Backups as the console makes them; null where nothing writes any. */
  backups?: Backups | null
  /** How the timers of the server ran last. */
  timerRuns?: Map<string, TimerRun | null>
  /** How folding is cut; only tests say other sizes. */
  foldingSizes?: FoldingSizes
  /** What passwords cost and how many wait for their turn; only tests say others. */
  passwordCost?: PasswordCost
  passwordQueueLimit?: number
}

export type Services = Awaited<ReturnType<typeof createServices>>

/** Who gets what: the only wiring. */
export async function createServices(deps: ServicesDeps) {
  const { config, secrets, db, log, pegs, imageCommand, now = () => new Date() } = deps
  const { appleUrl = APPLE_URL, passwordQueueLimit } = deps
  const { passwordCost = PASSWORD_COSTS[config.passwordHashing] } = deps
  const { providers = knownProviders(config.googleClientIds, config.appleClientIds) } = deps

  const appName = config.appName ?? config.tokenAudience
  const limits = createLimits({ db, now, enabled: config.rateLimits })
  const outbox: UserOutbox = createOutbox({ db, key: secrets.sealKey, now, newId, log })
  const { encryptionKeys, signingKeys } = await createKeyRings(secrets, now)
  const passwords = createPasswords(passwordCost, log, passwordQueueLimit)
  const replayGuard = createReplayGuard({ db, now })
  const addressOf = createAddressOf({ trusted: config.trustedProxies, log })
  const isFromProxy = createProxyCheck(config.trustedProxies)
  const operators = createOperators({
    db,
    passwords,
    limits,
    sealKey: secrets.sealKey,
    recoveryKey: secrets.recoveryKey,
    appName,
    auditKeptDays: config.auditKeepDays,
    now,
    newId,
  })
  const mailer = mailerOf(config, appName)
  const accounts = createAccounts({ db, now, newId })
  const identities = createIdentities({ db, outbox, sealKey: secrets.sealKey })

  const content = createContent({ db, now, newId })
  const bumpVersion = (tx: Tx) => content.bump(tx, 'appSetting')
  const settings = createSettings({ db, now, bumpVersion })
  const plans = createPlans({ db, now, newId })
  const feed =
    config.ratesProvider === 'off'
      ? null
      : feedOf(config.ratesProvider, config.ratesUrl, config.ratesApiKey)
  const rates = createRates({ db, feed, baseCode: config.ratesBase, pegs, now, newId, log })

  const folder = join(config.dataDir, 'files')
  const space = createDiskSpace(folder, config.minFreeBytes)
  const attachmentParts = createAttachmentParts({
    db,
    files: filesOf(config, folder, 'cache', space),
    folder,
    space,
    quota: { maxBytes: config.attachmentQuotaBytes, maxCount: config.attachmentQuotaCount },
    fileUrlKey: secrets.fileUrlKey,
    filesPublicUrl: config.filesPublicUrl,
    imageCommand,
    existingUsers: accounts.filterExisting,
    clearAvatar: accounts.clearAvatar,
    now,
    newKey,
    log,
  })
  const { attachments, listing, idempotency, files, imageQueue } = attachmentParts

  const billingParts = createBillingParts({
    db,
    pseudonymKey: secrets.pseudonymKey,
    ignoresSandbox: config.billingSandbox === 'ignore',
    subscriberApi: { url: config.rcApiUrl, key: config.rcApiKey },
    listPlans: plans.listIn,
    existingUsers: accounts.filterExisting,
    sizes: deps.foldingSizes,
    now,
    newId,
    log,
  })
  const { billing, erasure, subscription } = billingParts

  const deleteAccount = createDeleteAccount({
    db,
    unlinkProviders: identities.removeAll,
    pseudonymizeBilling: erasure.eraseUser,
    removeAttachments: attachments.removeAllOf,
    removeUser: accounts.remove,
  })
  const { ownsPublicPicture } = attachments
  const profile = createProfile({ db, ownsPublicPicture, now })
  const tokens = createTokens({
    keys: signingKeys,
    refreshKey: secrets.refreshKey,
    issuer: config.tokenIssuer ?? config.baseUrl ?? 'homeport',
    audience: config.tokenAudience,
    now,
  })
  const users = createUsers({
    db,
    accounts,
    identities,
    outbox,
    tokens,
    limits,
    sealKey: secrets.sealKey,
    recoveryKey: secrets.recoveryKey,
    passwordMinLength: config.passwordMinLength,
    passwords,
    appName,
    links: linksOf(config),
    sendMail: mailer.send,
    verifyIdToken: createIdTokenVerifier(providers, now),
    appleGrants: appleGrantsOf(config, appleUrl, now),
    readProfile: profile.read,
    mergeGuest: createMergeGuest({
      moveAttachments: attachments.moveAll,
      joinBillingIds: billing.aliasUsers,
      removeUser: accounts.remove,
    }),
    deleteAccount,
    hasRecentAssets: async (userId, since) =>
      (await listing.hasFileSince(userId, since)) ||
      (await subscription.hasAccessSince(userId, since)),
    now,
    newId,
    log,
  })

  const findUsers = createFindUsers({
    listUsers: users.directory.list,
    usersOf: users.directory.listOf,
    customerIdsOf: billingParts.eventSearch.customerIdsOf,
    isEvent: billingParts.eventSearch.exists,
  })
  const exportData = createExportData({
    user: (userId) => profile.read(userId, publicUrl(config)),
    account: accounts.describe,
    identities: identities.list,
    sessions: (userId) => users.devices.list(userId, ''),
    devices: users.devices.known,
    pending: users.oneTimeTokens.list,
    attachments: listing.list,
    idempotencyKeys: idempotency.list,
    subscription: (userId) => subscription.readFor(userId, 'production'),
    sandboxSubscription: (userId) => subscription.readFor(userId, 'sandbox'),
    billingIds: erasure.idsOfUser,
    billingEvents: erasure.eventsOfUser,
  })
  const monitoring = createMonitoring({
    config,
    db,
    version: BUILD,
    servingSince: deps.servingSince ?? null,
    people: users.directory,
    billing,
    outbox,
    rates: feed === null ? { ...rates, isStale: null } : rates,
    probeStorage: async () => {
      await space.probe()
      await files.probe()
    },
    imageQueue,
    host: deps.host ?? NO_HOST_STATE,
    now,
    log,
  })

  return {
    ...monitoring,
    liveLines: deps.liveLines ?? createLiveLines(),
    timerRuns: deps.timerRuns ?? new Map(),
    backups: deps.backups ?? null,
    now,
    config,
    appName,
    log,
    db,
    limits,
    outbox,
    mailer,
    accounts,
    encryptionKeys,
    signingKeys,
    replayGuard,
    publicKeys: () => [...signingKeys.published(), ...encryptionKeys.published()],
    ipOf: createIpOf(addressOf),
    countryOf: createCountryOf(config.countryHeader, { isFromProxy, log }),
    maySeeConsole: createNetworkCheck(config.consoleNetworks, addressOf, isFromProxy),
    operators,
    consoleUrl: consoleUrlOf(config),
    checkSession: users.sessions.check,
    users,
    profile,
    tokens,
    ...attachmentParts,
    content,
    settings,
    plans,
    rates,
    ...billingParts,
    userIdOf: users.directory.idOf,
    deleteAccount,
    exportData,
    findUsers,
  }
}
