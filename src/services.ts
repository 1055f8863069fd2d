import { join } from 'node:path'
import type { Config } from './config.ts'
import type { OpenDb } from './db/open.ts'
import { createFiles } from './features/attachments/files.ts'
import { createImageWorker } from './features/attachments/image-worker.ts'
import { createAttachments } from './features/attachments/service.ts'
import { createUrlSigner } from './features/attachments/signed-url.ts'
import { createPasswords } from './features/auth/passwords.ts'
import { createAuth } from './features/auth/service.ts'
import { createSessions } from './features/auth/sessions.ts'
import { createTokens } from './features/auth/tokens.ts'
import { createBilling } from './features/billing/service.ts'
import { createContent } from './features/content/service.ts'
import { createPlans } from './features/plans/service.ts'
import { createProfile } from './features/profile/service.ts'
import { feedOf } from './features/rates/providers.ts'
import { createRates } from './features/rates/service.ts'
import type { Peg } from './features/rates/table.ts'
import { createSettings } from './features/settings/service.ts'
import type { Readiness } from './http/health.ts'
import { newId, newKey } from './lib/ids.ts'
import type { Log } from './lib/log.ts'
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
}

export type Services = Awaited<ReturnType<typeof createServices>>

/** Who gets what: the only wiring. */
export async function createServices(deps: ServicesDeps) {
  const { config, secrets, db, log, pegs, imageCommand, now = () => new Date() } = deps

  const files = createFiles(join(config.dataDir, 'files'), config.minFreeBytes)
  const imageWorker = createImageWorker({
    command: imageCommand,
    concurrency: navigator.hardwareConcurrency,
    log,
  })
  const attachments = createAttachments({
    db,
    files,
    makeImage: imageWorker.make,
    signer: createUrlSigner(secrets.fileUrlKey, now),
    now,
    newKey,
  })

  const profile = createProfile({ db, now, removeFiles: attachments.removeAllOf })
  const tokens = await createTokens({
    key: secrets.accessTokenKey,
    refreshKey: secrets.refreshKey,
    issuer: config.tokenIssuer ?? config.baseUrl ?? 'homeport',
    audience: config.tokenAudience,
    now,
  })
  const sessions = createSessions({
    db,
    tokens,
    now,
    newId,
    onTheft: (session) => log.warn(session, 'a used refresh token came back: session ended'),
  })
  const auth = createAuth({
    db,
    passwords: createPasswords(),
    sessions,
    tokens,
    passwordMinLength: config.passwordMinLength,
    now,
    newId,
    readProfile: profile.read,
  })

  const content = createContent({ db, newId })
  const settings = createSettings({ db, bumpVersion: (tx) => content.bump(tx, 'appSetting') })
  const plans = createPlans({ db, now, newId })
  const feed =
    config.ratesProvider === 'off'
      ? null
      : feedOf(config.ratesProvider, config.ratesUrl, config.ratesApiKey)
  const rates = createRates({ db, feed, baseCode: config.ratesBase, pegs, now, newId, log })
  const billing = createBilling({ db, now, newId })

  return {
    config,
    log,
    db,
    files,
    imageWorker,
    attachments,
    profile,
    tokens,
    auth,
    content,
    settings,
    plans,
    rates,
    billing,
    checkSession: sessions.check,
    readiness,
  }

  async function readiness(): Promise<Readiness> {
    return {
      database: (await db.isWritable()) ? 'ok' : 'failing',
      storage: (await files.hasSpace()) ? 'ok' : 'failing',
      imageWorker: 'ok',
      rates: feed === null ? 'off' : (await rates.isStale()) ? 'stale' : 'ok',
    }
  }
}
