import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Secrets } from '../config/secrets.ts'
import { ACCESS_TOKEN_TTL_SECONDS } from '../features/users/sessions/tokens.ts'
import { createKeyRing, type StoredText } from '../lib/crypto/key-ring.ts'
import { newId } from '../lib/ids.ts'
import type { Log } from '../lib/log/log.ts'
import type { PasswordCost } from '../lib/passwords/argon2.ts'
import { createPasswords, PASSWORD_COSTS } from '../lib/passwords/passwords.ts'
import { DAY_MS } from '../lib/time/durations.ts'
import { SERVER_CONDITIONS } from '../operations/conditions.ts'
import { SERVER_METRICS } from '../operations/metrics.ts'
import type { Columns, UsersTable } from '../platform/db/columns.ts'
import type { OpenDb } from '../platform/db/db.ts'
import { keyActions, keyLists } from '../platform/encryption/commands.ts'
import { createReplayGuard } from '../platform/encryption/replay-guard.ts'
import { type EncryptionDb, encryptionTables } from '../platform/encryption/schema.ts'
import type { Declarations } from '../platform/feature.ts'
import { httpGerman } from '../platform/http/language/translations.ts'
import { createAddresses } from '../platform/http/request/client-address.ts'
import type { Job } from '../platform/jobs/jobs.ts'
import { createLimits } from '../platform/limits/limits.ts'
import { type LimitsDb, limitTables } from '../platform/limits/schema.ts'
import { createRegistry } from '../platform/metrics/registry.ts'
import { requestMetrics } from '../platform/metrics/request-metrics.ts'
import { historyTables } from '../platform/metrics/schema.ts'
import { createMailer, findEhloName } from '../platform/outbox/mailer.ts'
import { outboxTables } from '../platform/outbox/schema.ts'
import { publicUrl } from '../platform/public-url.ts'
import { publicationTables } from '../platform/publications/schema.ts'

export const platformDeclarations = {
  tables: (columns: Columns, users: UsersTable) => ({
    ...publicationTables(columns),
    ...historyTables(columns),
    ...outboxTables(columns, users),
    ...limitTables(columns),
    ...encryptionTables(columns),
  }),
  commands: [],
  lists: keyLists,
  actions: keyActions,
  conditions: SERVER_CONDITIONS,
  metrics: { ...requestMetrics, ...SERVER_METRICS },
  translations: { de: httpGerman },
} satisfies Declarations

export type PlatformDeps<Database> = {
  config: Config
  secrets: Secrets
  db: Database
  log: Log
  now?: () => Date
  /** The cost of password hashing and the length of its queue; set only by tests. */
  passwordCost?: PasswordCost
  passwordQueueLimit?: number
}

/** Apps pin the key that they encrypt with and are slow to update, so the old key is accepted for 30 days. */
const ENCRYPTION_KEY_GRACE_MS = 30 * DAY_MS

/** Creates the services that all features share. */
export async function createPlatform<Database extends OpenDb<unknown> & LimitsDb & EncryptionDb>(
  deps: PlatformDeps<Database>,
) {
  const { config, secrets, db, log, now = () => new Date() } = deps
  const { passwordCost = PASSWORD_COSTS[config.passwordHashing], passwordQueueLimit } = deps
  const { trustedProxies: trusted, consoleNetworks, countryHeader } = config
  const appName = config.appName ?? config.tokenAudience
  const limits = createLimits({ db, now, enabled: config.rateLimits, perIp: config.perIp })
  const openKeys = (use: 'sig' | 'enc', storage: StoredText, gracePeriodMs: number) =>
    createKeyRing({ use, storage, gracePeriodMs, now })
  const encryptionKeys = await openKeys('enc', secrets.encryptionKeys, ENCRYPTION_KEY_GRACE_MS)
  const tokenTtlMs = ACCESS_TOKEN_TTL_SECONDS * 1000
  const signingKeys = await openKeys('sig', secrets.accessTokenKeys, tokenTtlMs)
  const replayGuard = createReplayGuard({ db, now })
  const isSocket = config.socketPath !== null
  const addresses = createAddresses({ trusted, isSocket, countryHeader, log })
  const jobs: Job[] = [
    {
      name: 'sealed requests',
      schedule: ['*/10 * * * *'],
      run: replayGuard.sweep,
      deletesByAge: true,
    },
    {
      name: 'old encryption keys',
      schedule: ['5 * * * *'],
      run: encryptionKeys.sweep,
      deletesByAge: true,
    },
    {
      name: 'old signing keys',
      schedule: ['6 * * * *'],
      run: signingKeys.sweep,
      deletesByAge: true,
    },
    { name: 'database log', schedule: ['27 * * * *'], run: db.emptyLog },
    { name: 'old limits', schedule: ['30 3 * * *'], run: limits.sweep, deletesByAge: true },
  ]
  return {
    config,
    secrets,
    db,
    log,
    now,
    newId,
    registry: createRegistry(),
    limits,
    passwords: createPasswords(passwordCost, log, passwordQueueLimit),
    appName,
    mailer: createMailer({
      smtpUrl: config.smtpUrl,
      ehloName: findEhloName(config.baseUrl),
      from: config.mailFrom ?? { name: appName, address: `no-reply@${readHost(config)}` },
      folder: join(config.dataDir, 'outbox'),
    }),
    encryptionKeys,
    signingKeys,
    publicKeys: () => [...signingKeys.published(), ...encryptionKeys.published()],
    replayGuard,
    ...addresses,
    maySeeConsole: addresses.networkCheck(consoleNetworks),
    jobs,
  }
}

function readHost(config: Config): string {
  return new URL(publicUrl(config)).hostname
}
