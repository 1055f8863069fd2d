import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { pickTrue } from '../lib/text/format.ts'
import { type DotEnv, loadDotEnv, NO_DOT_ENV } from './environment-file.ts'
import {
  createSettingsReader,
  findMisspelled,
  SERVICE_LINK,
  type SettingsReader,
} from './read-settings.ts'
import type { ValuesOf } from './setting.ts'
import { appSettings } from './subjects/app.ts'
import { appLinkSettings } from './subjects/app-links.ts'
import { billingSettings } from './subjects/billing.ts'
import { networkSettings } from './subjects/network.ts'
import { backupSettings, logSettings, operationSettings } from './subjects/operation.ts'
import { ratesSettings } from './subjects/rates.ts'
import { signInContradictions, signInSettings } from './subjects/sign-in.ts'
import { storageSettings } from './subjects/storage.ts'
import { storeContradictions, storeSettings } from './subjects/stores.ts'
import { stripeSettings } from './subjects/stripe.ts'
import { anyAddress, httpsOrigin } from './values.ts'

export const DEFAULT_DATA_DIR = './data'

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
  const fileProblems = dotEnvFaults
    .filter(({ name }) => name === null || reader.names.includes(name))
    .map(({ name, message }) =>
      name === null ? `${path} ${message}` : `${name} in ${path} ${message}`,
    )
  const problems = [...fileProblems, ...reader.problems, ...findContradictions(settings)]
  if (problems.length > 0) throw new ConfigError([...new Set(problems)].join('\n'))
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

/** The settings by subject, in the order of the reference. */
export const SETTINGS = {
  Network: networkSettings,
  Storage: storageSettings,
  App: appSettings,
  'Sign-in': signInSettings,
  'App links and passkeys': appLinkSettings,
  'Billing provider': billingSettings,
  'App stores': storeSettings,
  'Sales by card': stripeSettings,
  'Currency rates': ratesSettings,
  'Console and metrics': operationSettings,
  Backups: backupSettings,
  Log: logSettings,
}

function readSettings({ env, readAll }: SettingsReader) {
  const network = readAll(networkSettings)
  const storage = readAll(storageSettings)
  const signIn = readAll(signInSettings)
  const backups = readAll(backupSettings)
  const { tlsDomains, tlsCert } = network
  const isTls = tlsDomains.length > 0 || tlsCert !== null
  const port = network.port ?? (isTls ? 443 : 3000)
  const s3 = readS3Keys(storage, env)
  const { backupS3AccessKeyId: keyId, backupS3SecretAccessKey: key } = backups
  return {
    ...network,
    ...storage,
    ...readAll(appSettings),
    ...signIn,
    ...readAll(appLinkSettings),
    ...readAll(billingSettings),
    ...readAll(storeSettings),
    ...readAll(stripeSettings),
    ...readAll(ratesSettings),
    ...readAll(operationSettings),
    ...backups,
    ...readAll(logSettings),
    isTls,
    port,
    host: network.host ?? anyAddress(),
    /** Null when a proxy connects over a port. */
    socketPath: network.host?.startsWith('unix:') ? network.host.slice('unix:'.length) : null,
    httpPort: network.httpPort ?? (tlsDomains.length > 0 ? 80 : null),
    baseUrl: network.baseUrl ?? (tlsDomains[0] ? httpsOrigin(tlsDomains[0], port) : null),
    dataDir: storage.dataDir ?? resolve(DEFAULT_DATA_DIR),
    s3,
    instance: storage.instance ?? (env('DATABASE_URL') ? hostname() : null),
    /** How many attempts one IP address may make: sign-ins in five minutes, the others in an hour. */
    perIp: {
      failures: signIn.signInFailuresPerIp,
      registrations: signIn.registrationsPerIp,
      guests: signIn.guestsPerIp,
      mails: signIn.mailsPerIp,
    },
    /** The credentials for the object store of `BACKUP_DIR`. */
    backupS3:
      keyId === null && key === null
        ? s3
        : { accessKeyId: keyId ?? '', secretAccessKey: key ?? '' },
    /** The socket on which systemd receives notifications. */
    notifySocket: env('NOTIFY_SOCKET') || null,
    /** The environment file that the systemd unit names, or else the `.env` file that was read. */
    environmentFile: env('SERVICE_ENVIRONMENT_FILE') || null,
    /** systemd considers the server hung when it gets no watchdog ping for this long. */
    watchdogMs: Number(env('WATCHDOG_USEC') ?? 0) / 1000 || null,
  }
}

/** Credentials of an object store: a token belongs to the pair of keys beside it. */
function readS3Keys(storage: ValuesOf<typeof storageSettings>, env: SettingsReader['env']) {
  const hasOwnKeys = Boolean(env('S3_ACCESS_KEY_ID') || env('S3_SECRET_ACCESS_KEY'))
  const readAwsKey = (name: string) => (hasOwnKeys ? '' : (env(name) ?? ''))
  const sessionToken = storage.s3SessionToken ?? readAwsKey('AWS_SESSION_TOKEN')
  return {
    accessKeyId: storage.s3AccessKeyId ?? readAwsKey('AWS_ACCESS_KEY_ID'),
    secretAccessKey: storage.s3SecretAccessKey ?? readAwsKey('AWS_SECRET_ACCESS_KEY'),
    ...(sessionToken ? { sessionToken } : {}),
  }
}

/** Errors for settings that are each valid but contradict one another. */
function findContradictions(settings: ReturnType<typeof readSettings>): string[] {
  const { consolePort, port, httpPort, ratesProvider, ratesApiKey, tlsCert, tlsKey } = settings
  const { webhookTokens, backupDir, backupS3 } = settings
  return pickTrue([
    consolePort !== null &&
      consolePort === port &&
      'CONSOLE_PORT must differ from PORT: unset it to serve the console on the same port',
    settings.socketPath !== null &&
      (settings.isTls || consolePort !== null) &&
      'HOST is a socket for a proxy, which terminates TLS: unset TLS_DOMAINS, TLS_CERT, TLS_KEY and CONSOLE_PORT',
    settings.isTls &&
      httpPort !== null &&
      [port, consolePort].includes(httpPort) &&
      'HTTP_PORT must differ from PORT and CONSOLE_PORT',
    ratesProvider.includes('openexchangerates') &&
      ratesApiKey === null &&
      'RATES_PROVIDER openexchangerates requires RATES_API_KEY',
    ...signInContradictions(settings),
    ...storeContradictions(settings),
    (tlsCert === null) !== (tlsKey === null) && 'TLS_CERT and TLS_KEY must be set together',
    settings.filesUrl !== null &&
      settings.s3.secretAccessKey === '' &&
      'FILES_URL requires S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY',
    backupDir !== null &&
      typeof backupDir !== 'string' &&
      !(backupS3.accessKeyId && backupS3.secretAccessKey) &&
      'BACKUP_DIR in an object store requires S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or both with the prefix BACKUP_',
    settings.databaseUrl !== null &&
      settings.secretKey === null &&
      'DATABASE_URL requires SECRET_KEY: use the output of "openssl rand -hex 32", the same for every instance',
    webhookTokens.some((token) => /^(replace-me|walk-token)/i.test(token)) &&
      'WEBHOOK_TOKEN is still the example from the manual: use a random one, for example from "openssl rand -hex 32"',
  ])
}
