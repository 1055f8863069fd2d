import { join } from 'node:path'
import type { Config } from './config.ts'
import type { OpenDb } from './db/sqlite/open.ts'
import { createEncryptionKeys } from './encryption/keys.ts'
import { createReplays } from './encryption/replays.ts'
import { createImageQueue } from './features/attachments/images/image-queue.ts'
import { createVariants } from './features/attachments/images/variants.ts'
import { createAttachments } from './features/attachments/service.ts'
import { createDiskSpace } from './features/attachments/storage/disk-space.ts'
import { createFiles } from './features/attachments/storage/files.ts'
import { createUrlSigner } from './features/attachments/storage/signed-url.ts'
import { createPreparing } from './features/attachments/upload/preparing.ts'
import { createQuota } from './features/attachments/upload/quota.ts'
import { createRetries } from './features/attachments/upload/retries.ts'
import { createStaging } from './features/attachments/upload/staging.ts'
import { createBilling } from './features/billing/inbox/deliveries.ts'
import { createForgottenPeople } from './features/billing/inbox/erasure.ts'
import { createEventLog } from './features/billing/inbox/event-log.ts'
import { createBacklog } from './features/billing/projection/backlog.ts'
import type { FoldingSizes } from './features/billing/projection/line-folding.ts'
import { createProjection } from './features/billing/projection/projection.ts'
import { createRebuild } from './features/billing/projection/rebuild.ts'
import { createSubscription } from './features/billing/projection/subscription.ts'
import { createReconcile } from './features/billing/provider/reconcile.ts'
import { createSubscriberApi } from './features/billing/provider/subscriber-api.ts'
import { createContent } from './features/content/service.ts'
import { PASSWORD_COST, type PasswordCost } from './features/people/credentials/passwords.ts'
import { createProfile } from './features/people/profile/service.ts'
import { createAuth } from './features/people/service.ts'
import { createTokens } from './features/people/sessions/tokens.ts'
import { APPLE_URL, createAppleGrants } from './features/people/social/apple-grants.ts'
import {
  createIdTokenVerifier,
  type IdentityProviders,
  knownProviders,
} from './features/people/social/identity-providers.ts'
import { createPlans } from './features/plans/service.ts'
import { feedOf } from './features/rates/providers.ts'
import { createRates } from './features/rates/service.ts'
import type { Peg } from './features/rates/table.ts'
import { createSettings } from './features/settings/service.ts'
import { createAddressOf } from './http/client-ip.ts'
import type { Part, Readiness } from './http/health.ts'
import { newId, newKey } from './lib/ids.ts'
import type { Log } from './lib/log.ts'
import { createLimits } from './limits/limits.ts'
import { createMailer } from './outbox/mailer.ts'
import type { Secrets } from './secrets.ts'

export type ServicesDeps = {
  config: Config
  secrets: Secrets
  db: OpenDb
  log: Log
  pegs: Peg[]
  /** The command line of the image worker. */
  imageCommand: string[]
  now?: () => Date
  /** Where identity providers are; only tests say others. */
  providers?: IdentityProviders
  appleUrl?: string
  /** How folding is cut; only tests say other sizes. */
  foldingSizes?: FoldingSizes
  passwordCost?: PasswordCost
}

export type Services = Awaited<ReturnType<typeof createServices>>

/** Who gets what: the only wiring. */
export async function createServices(deps: ServicesDeps) {
  const { config, secrets, db, log, pegs, imageCommand, now = () => new Date() } = deps
  const { appleUrl = APPLE_URL, passwordCost = PASSWORD_COST } = deps
  const { providers = knownProviders(config.googleClientIds, config.appleClientIds) } = deps

  const folder = join(config.dataDir, 'files')
  const files = createFiles(folder)
  const space = createDiskSpace(folder, config.minFreeBytes)
  const cores = navigator.hardwareConcurrency
  const imageQueue = createImageQueue({ command: imageCommand, space, cores, log })
  const staging = createStaging(join(folder, 'tmp'), space)
  const makeImage = imageQueue.make
  const retries = createRetries({ db, now })
  const attachments = createAttachments({
    db,
    files,
    staging,
    prepare: createPreparing({ staging, makeImage, now, newKey }),
    variants: createVariants({ db, files, staging, makeImage }),
    quota: createQuota({
      db,
      bytes: config.attachmentQuotaBytes,
      count: config.attachmentQuotaCount,
    }),
    retries,
    signer: createUrlSigner(secrets.fileUrlKey, now),
    now,
    log,
  })

  const limits = createLimits({ db, now, enabled: config.rateLimits })
  const profile = createProfile({ db, now })
  const keys = await createEncryptionKeys({ path: secrets.encryptionKeys, now })
  const replays = createReplays({ db, now })
  const tokens = await createTokens({
    key: secrets.accessTokenKey,
    refreshKey: secrets.refreshKey,
    issuer: config.tokenIssuer ?? config.baseUrl ?? 'homeport',
    audience: config.tokenAudience,
    now,
  })
  const auth = createAuth({
    db,
    tokens,
    limits,
    sealKey: secrets.sealKey,
    recoveryKey: secrets.recoveryKey,
    passwordMinLength: config.passwordMinLength,
    passwordCost,
    appName: config.tokenAudience,
    linkBase: config.appLinkUrl ?? publicUrl(config),
    pageBase: config.baseUrl ?? config.appLinkUrl ?? publicUrl(config),
    sendMail: createMailer({
      smtpUrl: config.smtpUrl,
      from: config.mailFrom ?? `no-reply@${new URL(publicUrl(config)).hostname}`,
      folder: join(config.dataDir, 'outbox'),
    }),
    verifyIdToken: createIdTokenVerifier(providers, now),
    appleGrants: appleGrantsOf(config, appleUrl, now),
    readProfile: profile.read,
    async moveBelongings(tx, from, to) {
      await attachments.moveAll(tx, from, to)
      await billing.joinUsers(tx, from, to)
    },
    removeAccount,
    now,
    newId,
    log,
  })

  const content = createContent({ db, newId })
  const settings = createSettings({ db, bumpVersion: (tx) => content.bump(tx, 'appSetting') })
  const plans = createPlans({ db, now, newId })
  const feed =
    config.ratesProvider === 'off'
      ? null
      : feedOf(config.ratesProvider, config.ratesUrl, config.ratesApiKey)
  const rates = createRates({ db, feed, baseCode: config.ratesBase, pegs, now, newId, log })
  const projection = createProjection({
    db,
    eventLog: createEventLog(db),
    ...(deps.foldingSizes ? { sizes: deps.foldingSizes } : {}),
  })
  const backlog = createBacklog({ db, projection, log })
  const people = createForgottenPeople({ db, projection, pseudonymKey: secrets.pseudonymKey })
  const billing = createBilling({
    db,
    projection,
    people,
    backlog,
    ignoresSandbox: config.billingSandbox === 'ignore',
    now,
    newId,
    log,
  })
  const subscription = createSubscription({ db, projection, listPlans: plans.listIn, now })
  const rebuildBilling = createRebuild({ db, projection })
  const reconcile =
    config.rcApiKey === null
      ? null
      : createReconcile({
          db,
          readSubscriber: createSubscriberApi(config.rcApiUrl, config.rcApiKey),
          recordOwn: billing.recordOwn,
          now,
          log,
        })

  return {
    now,
    limits,
    removeAccount,
    readExport,
    guestOf,
    keys,
    replays,
    publicKeys: () => [tokens.publicJwk, ...keys.published()],
    addressOf: createAddressOf({ trusted: config.trustedProxies, log }),
    config,
    log,
    db,
    staging,
    retries,
    imageQueue,
    attachments,
    profile,
    tokens,
    auth,
    content,
    settings,
    plans,
    rates,
    billing,
    backlog,
    subscription,
    projection,
    rebuildBilling,
    reconcile,
    checkSession: auth.sessions.check,
    readiness,
  }

  /** Takes everything of a person in one change, and what lies outside of the database after it. */
  async function removeAccount(userId: string) {
    const finish = await db.write(async (tx) => {
      const removeFiles = await attachments.removeAllOf(tx, userId)
      await auth.linked.removeAll(tx, userId)
      await people.forget(tx, userId)
      tx.afterCommit(backlog.nudge)
      await profile.remove(tx, userId)
      return removeFiles
    })
    auth.outbox.nudge()
    await finish()
  }

  /** Everything that is held about a person. */
  async function readExport(userId: string) {
    const billingData = await people.dataOf(userId)
    return {
      user: await profile.read(userId),
      account: await auth.accounts.describe(userId),
      identities: await auth.linked.list(userId),
      sessions: await auth.devices.list(userId, ''),
      devices: await auth.devices.known(userId),
      pending: await auth.oneTimeTokens.list(userId),
      attachments: await attachments.list(userId),
      idempotencyKeys: await retries.list(userId),
      subscription: (await subscription.read(userId, 'production', ['en'])).subscription,
      sandboxSubscription: (await subscription.read(userId, 'sandbox', ['en'])).subscription,
      billingIds: billingData.ids,
      billingEvents: billingData.events,
    }
  }

  async function guestOf(token: string | undefined, sealed: boolean): Promise<string | null> {
    return token ? (await auth.sessions.check(token, sealed)).userId : null
  }

  async function readiness(): Promise<Readiness> {
    return {
      database: (await db.isWritable()) ? 'ok' : 'failing',
      storage: await storageState(),
      imageWorker: imageQueue.isFailing() ? 'failing' : 'ok',
      rates: feed === null ? 'off' : await ratesState(),
    }
  }

  function storageState(): Promise<Part> {
    return space.check().then(
      () => 'ok',
      () => 'failing',
    )
  }

  function ratesState(): Promise<Part> {
    return rates.isStale().then(
      (isStale) => (isStale ? 'stale' : 'ok'),
      () => 'failing',
    )
  }
}

/** What links in mails begin with: never the Host of a request, which anybody could choose. */
function publicUrl({ baseUrl, port }: Config): string {
  return baseUrl ?? `http://localhost:${port}`
}

function appleGrantsOf(
  { appleTeamId, appleKeyId, applePrivateKey }: Config,
  url: string,
  now: () => Date,
) {
  if (appleTeamId === null || appleKeyId === null || applePrivateKey === null) return null
  const keys = { teamId: appleTeamId, keyId: appleKeyId, privateKey: applePrivateKey, url }
  return createAppleGrants(keys, now)
}
