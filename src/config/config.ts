import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { readAppLinks } from './app-links.ts'
import {
  createSettingsReader,
  findMisspelled,
  NETWORKS,
  SERVICE_LINK,
  type SettingsReader,
} from './define-setting.ts'
import { type DotEnv, loadDotEnv, NO_DOT_ENV } from './environment-file.ts'
import { readLog } from './log.ts'
import { readBackups, readOperations } from './operation.ts'
import { readRates } from './rates.ts'
import { readSignIn, signInContradictions } from './sign-in.ts'
import { readStores, storeContradictions } from './stores.ts'
import {
  anyAddress,
  appLink,
  externalUrl,
  hasNoSpaces,
  host,
  httpsOrigin,
  isClientOrigin,
  isHostName,
  isNetwork,
  list,
  mailUrl,
  nonEmpty,
  origin,
  POSTGRES_URL,
  postgresUrl,
  s3Url,
  sender,
} from './values.ts'
import { readWebhooks } from './webhooks.ts'

export const DEFAULT_DATA_DIR = './data'
const GIBIBYTE = 1024 ** 3
export const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory'
const EXTERNAL_URL = 'an https URL (http on loopback)'
const ORIGIN = 'an http or https URL without a path'

/** The operator's configuration. Paths are absolute, sizes in bytes. */
export type Config = ReturnType<typeof readConfig>

/** Lists every configuration error in one message. Names variables, but never their values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** The value of an environment variable that an operator named in a command; null when empty or unset. */
export function readVariable(name: string): string | null {
  return process.env[name] || null
}

/** The `.env` file at `path`, by default that of the working directory. */
export function readDotEnv(path = resolve('.env')): DotEnv {
  return loadDotEnv(path, process.env)
}

/** Reads and checks the whole environment. Flags override it, and it overrides `.env`, which overrides `defaults`. */
export function readConfig(
  flags: Record<string, string> = {},
  environment = process.env,
  defaults: Record<string, string> = {},
  { path, variables, faults: dotEnvFaults }: DotEnv = NO_DOT_ENV,
) {
  const reader = createSettingsReader([flags, environment, variables, defaults])
  const settings = readSettings(reader)
  const ofFile = dotEnvFaults
    .filter(({ name }) => name === null || reader.names.includes(name))
    .map(({ name, message }) =>
      name === null ? `${path} ${message}` : `${name} in ${path} ${message}`,
    )
  const faults = [...ofFile, ...reader.faults, ...findContradictions(settings)]
  if (faults.length > 0) throw new ConfigError([...new Set(faults)].join('\n'))
  const known = Object.entries({ ...defaults, ...variables, ...environment })
  const ours = known.filter(([, value]) => !SERVICE_LINK.test(value ?? '')).map(([name]) => name)
  return {
    ...settings,
    environmentFile: settings.environmentFile ?? path,
    logColors: !environment['NO_COLOR'],
    misspelled: findMisspelled(ours, reader.names),
    warnings: [...new Set(reader.warnings)],
  }
}

function readSettings(reader: SettingsReader) {
  const storage = readStorage(reader)
  return {
    ...readNetwork(reader),
    ...storage,
    ...readApp(reader),
    ...readSignIn(reader),
    ...readAppLinks(reader),
    ...readBilling(reader),
    ...readStores(reader),
    ...readWebhooks(reader),
    ...readRates(reader),
    ...readOperations(reader),
    ...readBackups(reader, storage.s3),
    ...readLog(reader),
  }
}

function readNetwork({ read, optional, path, all, isOn, integer, port: readPort }: SettingsReader) {
  const tlsDomains = read<string[]>(
    'TLS_DOMAINS',
    [],
    'host names without wildcards, separated by commas',
    (text) => list(text.toLowerCase(), isHostName),
  )
  const tlsCert = path('TLS_CERT')
  const tlsKey = path('TLS_KEY')
  const isTls = tlsDomains.length > 0 || tlsCert !== null
  const port = readPort('PORT', isTls ? 443 : 3000)
  const hostname = read(
    'HOST',
    anyAddress(),
    'an IP address, a host name, or a socket such as unix:/run/homeport/homeport.sock',
    host,
  )
  const ownUrl = tlsDomains[0] === undefined ? null : httpsOrigin(tlsDomains[0], port)
  return {
    /** ACME obtains certificates for these, unless the operator's own certificate is configured. */
    tlsDomains,
    tlsCert,
    tlsKey,
    isTls,
    acmeUrl: read('ACME_URL', LETS_ENCRYPT, EXTERNAL_URL, externalUrl),
    /** Answers the certificate authority and redirects everything else to https. */
    httpPort: readPort('HTTP_PORT', tlsDomains.length > 0 ? 80 : null),
    port,
    host: hostname,
    /** The socket on which a proxy connects, instead of a port; null without one. */
    socketPath: hostname.startsWith('unix:') ? hostname.slice('unix:'.length) : null,
    /** Must be longer than the idle timeout of a reverse proxy in front of the server. */
    keepAliveSeconds: integer('KEEP_ALIVE_SECONDS', 150, 5, 240),
    baseUrl: read<string | null>('BASE_URL', ownUrl, ORIGIN, origin),
    trustedProxies: all('TRUSTED_PROXIES', NETWORKS, isNetwork),
    rateLimits: isOn('RATE_LIMITS', true),
    corsOrigins: all(
      'CORS_ORIGINS',
      'origins such as https://app.example.com without wildcards, separated by commas',
      isClientOrigin,
    ),
    /** The header in which a proxy names the caller's country; null without one. */
    countryHeader: optional(
      'COUNTRY_HEADER',
      'the name of a header such as CF-IPCountry',
      (text) => (/^[\w-]{1,64}$/.test(text) ? text : undefined),
    ),
  }
}

function readStorage({ env, read, optional, path, isOn, integer, count }: SettingsReader) {
  // A token belongs to the pair of keys beside it.
  const ownKeys = env('S3_ACCESS_KEY_ID') || env('S3_SECRET_ACCESS_KEY')
  const ownToken = optional('S3_SESSION_TOKEN', 'a token', nonEmpty)
  const sessionToken = ownToken ?? (ownKeys ? null : env('AWS_SESSION_TOKEN'))
  const awsKey = (name: string) => (ownKeys ? '' : (env(name) ?? ''))
  const defaultName = env('DATABASE_URL') ? hostname() : null
  return {
    dataDir: path('DATA_DIR') ?? resolve(DEFAULT_DATA_DIR),
    /** A PostgreSQL server instead of the SQLite file, for several instances. */
    databaseUrl: optional('DATABASE_URL', `a URL such as ${POSTGRES_URL}`, postgresUrl),
    /** The maximum number of connections from this instance to that server. */
    databasePool: integer('DATABASE_POOL', 24, 3, 500),
    /** Encrypts the secrets that instances share. */
    secretKey: optional(
      'SECRET_KEY',
      'at least 32 characters, for example from "openssl rand -hex 32"',
      (text) => (text.length >= 32 ? text : undefined),
    ),
    /** An object store for files instead of the disk, for several instances. */
    filesUrl: optional('FILES_URL', 's3://bucket/prefix?endpoint=https://…&region=…', s3Url),
    s3: {
      accessKeyId: read('S3_ACCESS_KEY_ID', awsKey('AWS_ACCESS_KEY_ID'), 'a key id', nonEmpty),
      secretAccessKey: read(
        'S3_SECRET_ACCESS_KEY',
        awsKey('AWS_SECRET_ACCESS_KEY'),
        'a key',
        nonEmpty,
      ),
      ...(sessionToken ? { sessionToken } : {}),
    },
    /** A CDN that fetches public files from here. */
    filesPublicUrl: optional('FILES_PUBLIC_URL', ORIGIN, origin),
    /** The maximum size of the object store's cache on this disk. */
    filesCacheBytes: count('FILES_CACHE_BYTES', GIBIBYTE, 'bytes'),
    /** The name of this instance in logs and metrics; null for a single instance. */
    instance: read<string | null>('INSTANCE', defaultName, 'a name', nonEmpty),
    /** A file system for DATA_DIR that we would refuse. */
    allowedFileSystem: optional('ALLOW_FILE_SYSTEM', 'a name such as btrfs', nonEmpty),
    nativeDir: path('NATIVE_DIR'),
    attachmentQuotaBytes: count('ATTACHMENT_QUOTA_BYTES', GIBIBYTE, 'bytes'),
    attachmentQuotaCount: count('ATTACHMENT_QUOTA_COUNT', 1_000, 'files'),
    minFreeBytes: count('MIN_FREE_BYTES', GIBIBYTE / 4, 'bytes'),
    /** Litestream copies the database's log, so no other process may checkpoint it. */
    litestream: isOn('LITESTREAM', false),
  }
}

function readApp({ read, optional, choice, isOn }: SettingsReader) {
  return {
    tokenIssuer: optional('TOKEN_ISSUER', 'a name or URL', nonEmpty),
    tokenAudience: read('TOKEN_AUDIENCE', 'homeport', 'a name or URL', nonEmpty),
    appName: optional('APP_NAME', 'a name on a single line', (text) =>
      /^[^\p{C}]{1,100}$/u.test(text) ? text : undefined,
    ),
    /** The prefix of deep links: `/verify`, `/reset`, `/invitation` and, without a page, `/cancel` are appended. */
    appLinkUrl: optional('APP_LINK_URL', 'a link such as myapp://auth', appLink),
    /** Whether `/client.tgz` serves the client package. */
    clientPackage: isOn('CLIENT_PACKAGE', true),
    payloadEncryption: choice('PAYLOAD_ENCRYPTION', ['optional', 'required'], 'optional'),
    smtpUrl: optional('SMTP_URL', 'a URL such as smtp://user:password@host:587', mailUrl),
    mailFrom: optional('MAIL_FROM', 'an address such as App <app@example.com>', sender),
  }
}

function readBilling({ read, optional, choice }: SettingsReader) {
  return {
    webhookTokens: read<string[]>('WEBHOOK_TOKEN', [], 'one token, or two as "a,b"', (text) => {
      const tokens = list(text, hasNoSpaces)
      return tokens && tokens.length <= 2 ? tokens : undefined
    }),
    webhookSigningSecret: optional('WEBHOOK_SIGNING_SECRET', 'a secret', nonEmpty),
    rcApiKey: optional('RC_API_KEY', 'a key', nonEmpty),
    rcApiUrl: read('RC_API_URL', 'https://api.revenuecat.com', EXTERNAL_URL, (text) =>
      externalUrl(text)?.replace(/\/+$/, ''),
    ),
    billingSandbox: choice('BILLING_SANDBOX', ['separate', 'ignore'], 'separate'),
  }
}

/** Errors for settings that are each valid but contradict one another. */
function findContradictions(settings: ReturnType<typeof readSettings>): string[] {
  const { consolePort, port, httpPort, ratesProvider, ratesApiKey, tlsCert, tlsKey } = settings
  const { webhookTokens, backupDir, backupS3 } = settings
  const faults: [isFault: boolean, message: string][] = [
    [
      consolePort !== null && consolePort === port,
      'CONSOLE_PORT must differ from PORT: unset it to serve the console on the same port',
    ],
    [
      settings.socketPath !== null && (settings.isTls || consolePort !== null),
      'HOST is a socket for a proxy, which terminates TLS: unset TLS_DOMAINS, TLS_CERT, TLS_KEY and CONSOLE_PORT',
    ],
    [
      settings.isTls && httpPort !== null && [port, consolePort].includes(httpPort),
      'HTTP_PORT must differ from PORT and CONSOLE_PORT',
    ],
    [
      ratesProvider.includes('openexchangerates') && ratesApiKey === null,
      'RATES_PROVIDER openexchangerates requires RATES_API_KEY',
    ],
    ...signInContradictions(settings),
    ...storeContradictions(settings),
    [(tlsCert === null) !== (tlsKey === null), 'TLS_CERT and TLS_KEY must be set together'],
    [
      settings.filesUrl !== null && settings.s3.secretAccessKey === '',
      'FILES_URL requires S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY',
    ],
    [
      backupDir !== null &&
        typeof backupDir !== 'string' &&
        !(backupS3.accessKeyId && backupS3.secretAccessKey),
      'BACKUP_DIR in an object store requires S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or both with the prefix BACKUP_',
    ],
    [
      settings.databaseUrl !== null && settings.secretKey === null,
      'DATABASE_URL requires SECRET_KEY: use the output of "openssl rand -hex 32", the same for every instance',
    ],
    [
      webhookTokens.some((token) => /^(replace-me|walk-token)/i.test(token)),
      'WEBHOOK_TOKEN is still the example from the manual: use a random one, for example from "openssl rand -hex 32"',
    ],
  ]
  return faults.filter(([isFault]) => isFault).map(([, message]) => message)
}
