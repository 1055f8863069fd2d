import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { readConsoleSettings } from './lib/console-settings.ts'
import { isCurrency } from './lib/locale.ts'
import { readLogSettings } from './lib/log-settings.ts'
import {
  anyText,
  appLink,
  httpsOrigin,
  isHostName,
  isNetwork,
  isWord,
  list,
  mailUrl,
  oneOf,
  origin,
  outsideUrl,
  s3Url,
  schedule,
  wholeNumber,
} from './lib/setting-values.ts'
import { createSettingsReader, misspelledIn } from './lib/settings-reader.ts'

const RATES_PROVIDERS = ['ecb', 'frankfurter', 'openexchangerates', 'off'] as const
const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory'

/** What the operator chose. Paths are absolute, sizes in bytes. */
export type Config = ReturnType<typeof readConfig>

/** Every fault of the configuration in one message, which names variables and never their values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** A variable that an operator names in a command; null where it is empty or missing. */
export function readVariable(name: string): string | null {
  return process.env[name] || null
}

/** Reads and checks the whole environment (or `.env`, which Bun has read into it) at once. `flags` win, over `defaults` everything. */
export function readConfig(
  flags: Record<string, string> = {},
  environment = process.env,
  defaults: Record<string, string> = {},
) {
  const env: Record<string, string | undefined> = { ...defaults, ...environment, ...flags }
  const { read, faults, names } = createSettingsReader(env)
  const tlsDomains = read<string[]>(
    'TLS_DOMAINS',
    [],
    'host names without wildcards, separated by commas',
    (text) => list(text.toLowerCase(), isHostName),
  )
  const tlsCert = read<string | null>('TLS_CERT', null, 'a path', (text) => resolve(text))
  const tlsKey = read<string | null>('TLS_KEY', null, 'a path', (text) => resolve(text))
  const isTls = tlsDomains.length > 0 || tlsCert !== null
  const port = read('PORT', isTls ? 443 : 3000, 'a port from 0 to 65535', (text) =>
    wholeNumber(text, 65_535),
  )
  const ownUrl = tlsDomains[0] === undefined ? null : httpsOrigin(tlsDomains[0], port)
  const config = {
    /** Certificates for these are obtained by ACME, unless the files of one are given. */
    tlsDomains,
    tlsCert,
    tlsKey,
    isTls,
    acmeUrl: read('ACME_URL', LETS_ENCRYPT, 'an https URL (http on loopback)', outsideUrl),
    /** Answers the certificate authority and sends others to https. */
    httpPort: read<number | null>(
      'HTTP_PORT',
      tlsDomains.length > 0 ? 80 : null,
      'a port',
      (text) => wholeNumber(text, 65_535),
    ),
    port,
    host: read('HOST', '0.0.0.0', 'an IP address or host name', (text) =>
      isIP(text) || /^[\w.-]{1,253}$/.test(text) ? text : undefined,
    ),
    /** How long an idle connection is kept: longer than a proxy keeps it. */
    keepAliveSeconds: read('KEEP_ALIVE_SECONDS', 150, 'a number from 5 to 240', (text) => {
      const seconds = wholeNumber(text, 240)
      return seconds !== undefined && seconds >= 5 ? seconds : undefined
    }),
    dataDir: resolve(read('DATA_DIR', './data', 'a path', anyText)),
    /** A PostgreSQL server in the place of the SQLite file, for several instances. */
    databaseUrl: read<string | null>(
      'DATABASE_URL',
      null,
      'a URL such as postgres://user:password@host:5432/name?sslmode=verify-full',
      (text) => (/^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? '') ? text : undefined),
    ),
    /** Connections to it of this instance. */
    databasePool: read('DATABASE_POOL', 16, 'a number from 3 to 500', (text) => {
      const count = wholeNumber(text, 500)
      return count !== undefined && count >= 3 ? count : undefined
    }),
    /** Seals what instances share. */
    secretKey: read<string | null>(
      'SECRET_KEY',
      null,
      'at least 32 characters, such as from "openssl rand -hex 32"',
      (text) => (text.length >= 32 ? text : undefined),
    ),
    /** Where files are kept in the place of the disk, for several instances. */
    filesUrl: read<ReturnType<typeof s3Url> | null>(
      'FILES_URL',
      null,
      's3://bucket/prefix?endpoint=https://…&region=…',
      s3Url,
    ),
    s3: {
      accessKeyId: read('S3_ACCESS_KEY_ID', env['AWS_ACCESS_KEY_ID'] ?? '', 'a key id', anyText),
      secretAccessKey: read(
        'S3_SECRET_ACCESS_KEY',
        env['AWS_SECRET_ACCESS_KEY'] ?? '',
        'a key',
        anyText,
      ),
      ...(env['AWS_SESSION_TOKEN'] ? { sessionToken: env['AWS_SESSION_TOKEN'] } : {}),
    },
    /** A CDN that fetches public files from here. */
    filesPublicUrl: read<string | null>(
      'FILES_PUBLIC_URL',
      null,
      'an http or https URL without a path',
      origin,
    ),
    /** How much of them is kept on this disk as well. */
    filesCacheBytes: read('FILES_CACHE_BYTES', 1024 ** 3, 'a number of bytes', (text) =>
      wholeNumber(text, Number.MAX_SAFE_INTEGER),
    ),
    /** What this instance of several is called in logs and metrics; null for one alone. */
    instance: read<string | null>(
      'INSTANCE',
      env['DATABASE_URL'] ? hostname() : null,
      'a name',
      anyText,
    ),
    nativeDir: read<string | null>('NATIVE_DIR', null, 'a path', (text) => resolve(text)),
    baseUrl: read<string | null>('BASE_URL', ownUrl, 'an http or https URL without a path', origin),
    tokenIssuer: read<string | null>('TOKEN_ISSUER', null, 'a name or URL', anyText),
    tokenAudience: read('TOKEN_AUDIENCE', 'homeport', 'a name or URL', anyText),
    appName: read<string | null>('APP_NAME', null, 'a name of one line', (text) =>
      /^[^\p{C}]{1,100}$/u.test(text) ? text : undefined,
    ),
    webhookTokens: read<string[]>('WEBHOOK_TOKEN', [], 'one token, or two with a comma', (text) => {
      const tokens = list(text, isWord)
      return tokens && tokens.length <= 2 ? tokens : undefined
    }),
    /** What deep links begin with: `/verify` and `/reset` follow. */
    appLinkUrl: read<string | null>('APP_LINK_URL', null, 'a link such as myapp://auth', appLink),
    trustedProxies: read<string[]>(
      'TRUSTED_PROXIES',
      [],
      'addresses or networks, with commas',
      (text) => list(text, isNetwork),
    ),
    rateLimits:
      read('RATE_LIMITS', 'on', 'on or off', (text) => oneOf(['on', 'off'], text)) === 'on',
    smtpUrl: read<string | null>(
      'SMTP_URL',
      null,
      'a URL such as smtp://user:password@host:587',
      mailUrl,
    ),
    mailFrom: read<string | null>(
      'MAIL_FROM',
      null,
      'an address such as App <app@example.com>',
      (text) => (/^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/.test(text) ? text : undefined),
    ),
    googleClientIds: read<string[]>('GOOGLE_CLIENT_IDS', [], 'client ids, with commas', (text) =>
      list(text, isWord),
    ),
    appleClientIds: read<string[]>('APPLE_CLIENT_IDS', [], 'client ids, with commas', (text) =>
      list(text, isWord),
    ),
    appleTeamId: read<string | null>('APPLE_TEAM_ID', null, 'a team id', anyText),
    appleKeyId: read<string | null>('APPLE_KEY_ID', null, 'a key id', anyText),
    applePrivateKey: read<string | null>(
      'APPLE_PRIVATE_KEY',
      null,
      'a private key in PEM',
      (text) => (text.includes('PRIVATE KEY') ? text.replaceAll('\\n', '\n') : undefined),
    ),
    webhookSigningSecret: read<string | null>('WEBHOOK_SIGNING_SECRET', null, 'a secret', anyText),
    rcApiKey: read<string | null>('RC_API_KEY', null, 'a key', anyText),
    rcApiUrl: read(
      'RC_API_URL',
      'https://api.revenuecat.com',
      'an https URL (http on loopback)',
      (text) => outsideUrl(text)?.replace(/\/+$/, ''),
    ),
    billingSandbox: read('BILLING_SANDBOX', 'separate', 'separate or ignore', (text) =>
      oneOf(['separate', 'ignore'], text),
    ),
    ratesProvider: read('RATES_PROVIDER', 'ecb', `one of ${RATES_PROVIDERS.join(', ')}`, (text) =>
      oneOf(RATES_PROVIDERS, text),
    ),
    ratesUrl: read<string | null>('RATES_URL', null, 'an https URL (http on loopback)', outsideUrl),
    ratesApiKey: read<string | null>('RATES_API_KEY', null, 'a key', anyText),
    ratesBase: read('RATES_BASE', 'USD', 'an ISO 4217 code such as USD', (text) =>
      isCurrency(text.toUpperCase()) ? text.toUpperCase() : undefined,
    ),
    corsOrigins: read<string[]>(
      'CORS_ORIGINS',
      [],
      'origins such as https://app.example.com, with commas',
      (text) => list(text, (part) => origin(part) === part),
    ),
    payloadEncryption: read('PAYLOAD_ENCRYPTION', 'optional', 'optional or required', (text) =>
      oneOf(['optional', 'required'], text),
    ),
    passwordMinLength: read('PASSWORD_MIN_LENGTH', 8, 'a number from 8 to 256', (text) => {
      const length = wholeNumber(text, 256)
      return length !== undefined && length >= 8 ? length : undefined
    }),
    passwordHashing: read('PASSWORD_HASHING', 'standard', 'standard or strong', (text) =>
      oneOf(['standard', 'strong'], text),
    ),
    attachmentQuotaBytes: read('ATTACHMENT_QUOTA_BYTES', 1024 ** 3, 'a number of bytes', (text) =>
      wholeNumber(text, Number.MAX_SAFE_INTEGER),
    ),
    attachmentQuotaCount: read('ATTACHMENT_QUOTA_COUNT', 1_000, 'a number of files', (text) =>
      wholeNumber(text, Number.MAX_SAFE_INTEGER),
    ),
    minFreeBytes: read('MIN_FREE_BYTES', 256 * 1024 * 1024, 'a number of bytes', (text) =>
      wholeNumber(text, Number.MAX_SAFE_INTEGER),
    ),
    /** Litestream copies the log of the database, and nobody else may. */
    litestream:
      read('LITESTREAM', 'off', 'on or off', (text) => oneOf(['on', 'off'], text)) === 'on',
    /** Where systemd listens, and how soon it takes us for hung, in ms. */
    notifySocket: env['NOTIFY_SOCKET'] || null,
    /** Where the unit of systemd has its variables from. */
    environmentFile: env['SERVICE_ENVIRONMENT_FILE'] || null,
    watchdogMs: Number(env['WATCHDOG_USEC'] ?? 0) / 1000 || null,
    ...readConsoleSettings(read),
    metricsToken: read<string | null>('METRICS_TOKEN', null, 'a token', (text) =>
      isWord(text) ? text : undefined,
    ),
    /** A passphrase, or a recipient of age; to read backups, a passphrase or an identity. */
    backupKey: read<string | null>(
      'BACKUP_KEY',
      null,
      'a passphrase of at least 8 characters, or a key of age',
      (text) => (text.length >= 8 ? text : undefined),
    ),
    backupDir: read<string | null>('BACKUP_DIR', null, 'a path', (text) => resolve(text)),
    /** In UTC; null for no backups by itself. */
    backupSchedule: read<string | null>(
      'BACKUP_SCHEDULE',
      null,
      'a cron expression such as 15 2 * * *',
      schedule,
    ),
    backupKeep: read('BACKUP_KEEP', 7, 'a number from 1 to 1000', (text) => {
      const count = wholeNumber(text, 1000)
      return count === 0 ? undefined : count
    }),
    ...readLogSettings(read, (text) => resolve(text)),
  }
  if (config.consolePort !== null && config.consolePort === config.port) {
    faults.push(
      'CONSOLE_PORT must be another port than PORT: without it the console is on the same',
    )
  }
  if (config.ratesProvider === 'openexchangerates' && config.ratesApiKey === null) {
    faults.push('RATES_API_KEY is needed by RATES_PROVIDER openexchangerates')
  }
  const apple = [config.appleTeamId, config.appleKeyId, config.applePrivateKey]
  if (apple.some((part) => part !== null) && apple.includes(null)) {
    faults.push('APPLE_TEAM_ID, APPLE_KEY_ID and APPLE_PRIVATE_KEY are needed together')
  }
  if ((tlsCert === null) !== (tlsKey === null)) {
    faults.push('TLS_CERT and TLS_KEY are needed together')
  }
  if (config.filesUrl && config.s3.secretAccessKey === '') {
    faults.push('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY are needed by FILES_URL')
  }
  if (config.databaseUrl !== null && config.secretKey === null) {
    faults.push(
      'SECRET_KEY is needed by DATABASE_URL: take the output of "openssl rand -hex 32", the same for every instance',
    )
  }
  if (config.webhookTokens.some((token) => /^(replace-me|walk-token)/i.test(token))) {
    faults.push(
      'WEBHOOK_TOKEN is still the example of the manual: take a random one, such as from "openssl rand -hex 32"',
    )
  }
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  const misspelled = misspelledIn(Object.keys({ ...defaults, ...environment }), names)
  return { ...config, logColors: !environment['NO_COLOR'], misspelled }
}
