import { expect, test } from 'bun:test'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { type Config, readConfig } from '../src/config/config.ts'
import { anyAddress } from '../src/config/values.ts'
import { APP_LINK_VARIABLES } from './support/app-link-variables.ts'
import { configErrorFor } from './support/config-error.ts'
import { fault } from './support/fault.ts'
import {
  IDENTITY_VARIABLES,
  REQUIRED_WITH_IDENTITY_VARIABLES,
} from './support/identity-variables.ts'
import { REQUIRED_WITH_STORE_VARIABLES, STORE_VARIABLES } from './support/store-variables.ts'

test('without environment variables, every setting has its default', () => {
  expect(readConfig({}, {})).toMatchObject({
    port: 3000,
    host: anyAddress(),
    dataDir: resolve('./data'),
    baseUrl: null,
    webhookTokens: [],
    ratesProvider: 'ecb',
    ratesBase: 'USD',
    passwordMinLength: 8,
    perIp: PER_IP,
    logLevel: 'info',
  })
})

test('flags override the environment', () => {
  expect(readConfig({ PORT: '1' }, { PORT: '2', HOST: '::1' })).toMatchObject({
    port: 1,
    host: '::1',
  })
})

type Variable = [value: string, parsed: Partial<Config>, invalid: string[] | null]

const PER_IP = { failures: 100, registrations: 100, guests: 100, mails: 30 }

/** A valid value of each variable, its parsed form, and invalid values besides '' (null: none). */
const VARIABLES: Record<string, Variable> = {
  TLS_DOMAINS: [
    'API.example.com, b.example.org',
    { tlsDomains: ['api.example.com', 'b.example.org'], isTls: true, port: 443, httpPort: 80 },
    ['*.example.com', 'localhost', '10.0.0.1'],
  ],
  TLS_CERT: ['cert.pem', { tlsCert: resolve('cert.pem'), isTls: true, port: 443 }, []],
  TLS_KEY: ['key.pem', { tlsKey: resolve('key.pem') }, []],
  ACME_URL: ['https://ca.test/dir', { acmeUrl: 'https://ca.test/dir' }, ['http://ca.test', 'x']],
  HTTP_PORT: ['8080', { httpPort: 8080 }, ['65536', 'http']],
  PORT: ['1', { port: 1 }, ['http', '65536', '-1', '1e3', '0x50']],
  HOST: [
    'unix:/run/homeport/homeport.sock',
    { host: 'unix:/run/homeport/homeport.sock', socketPath: '/run/homeport/homeport.sock' },
    ['two words', 'a/b', 'unix:x.sock', 'unix:/a b', `unix:/${'x'.repeat(100)}`],
  ],
  KEEP_ALIVE_SECONDS: ['5', { keepAliveSeconds: 5 }, ['4', '241', '60.5']],
  BASE_URL: [
    'https://example.com/',
    { baseUrl: 'https://example.com' },
    ['example.com', 'ftp://example.com', 'https://u:p@example.com', 'https://a.b/c'],
  ],
  TRUSTED_PROXIES: [
    '10.0.0.0/8, ::1',
    { trustedProxies: ['10.0.0.0/8', '::1'] },
    ['10.0.0.0/33', '10.0.0.0/8/8', 'proxy', '::1,'],
  ],
  SIGN_IN_FAILURES_PER_IP: [
    '500',
    { perIp: { ...PER_IP, failures: 500 } },
    ['0', '-1', 'off', '1000001'],
  ],
  REGISTRATIONS_PER_IP: ['1', { perIp: { ...PER_IP, registrations: 1 } }, ['0', '1.5']],
  GUESTS_PER_IP: ['1000000', { perIp: { ...PER_IP, guests: 1_000_000 } }, ['0']],
  MAILS_PER_IP: ['40', { perIp: { ...PER_IP, mails: 40 } }, ['0']],
  RATE_LIMITS: ['off', { rateLimits: false }, ['no', 'OFF']],
  CORS_ORIGINS: [
    'https://a.test, http://b.test:8080',
    { corsOrigins: ['https://a.test', 'http://b.test:8080'] },
    ['*', 'https://*.b.test', 'http://*', 'web.example.org', 'https://a.b/', 'https://a.b,'],
  ],
  COUNTRY_HEADER: ['CF-IPCountry', { countryHeader: 'CF-IPCountry' }, ['CF IPCountry']],
  DATA_DIR: ['other', { dataDir: resolve('other') }, ['  ']],
  DATABASE_URL: [
    'postgres://user:password@host/name',
    { databaseUrl: 'postgres://user:password@host/name', instance: hostname() },
    ['mysql://user@host/name', 'host/name'],
  ],
  DATABASE_POOL: ['3', { databasePool: 3 }, ['2', '501']],
  SECRET_KEY: ['k'.repeat(32), { secretKey: 'k'.repeat(32) }, ['k'.repeat(31)]],
  S3_SESSION_TOKEN: [
    't',
    { s3: { accessKeyId: '', secretAccessKey: '', sessionToken: 't' } },
    [' '],
  ],
  FILES_URL: [
    's3://bucket/a/b/?region=eu-1',
    {
      filesUrl: {
        bucket: 'bucket',
        prefix: 'a/b',
        endpoint: 'https://s3.eu-1.amazonaws.com',
        region: 'eu-1',
      },
    },
    ['https://bucket', 's3:///prefix', 's3://key@bucket', 's3://bucket?endpoint=ftp://store'],
  ],
  S3_ACCESS_KEY_ID: ['id', { s3: { accessKeyId: 'id', secretAccessKey: '' } }, []],
  S3_SECRET_ACCESS_KEY: ['key', { s3: { accessKeyId: '', secretAccessKey: 'key' } }, []],
  AWS_ACCESS_KEY_ID: ['id', { s3: { accessKeyId: 'id', secretAccessKey: '' } }, null],
  AWS_SECRET_ACCESS_KEY: ['key', { s3: { accessKeyId: '', secretAccessKey: 'key' } }, null],
  AWS_SESSION_TOKEN: [
    'token',
    { s3: { accessKeyId: '', secretAccessKey: '', sessionToken: 'token' } },
    null,
  ],
  FILES_PUBLIC_URL: [
    'https://cdn.test/',
    { filesPublicUrl: 'https://cdn.test' },
    ['cdn.test', 'https://cdn.test/files'],
  ],
  FILES_CACHE_BYTES: ['0', { filesCacheBytes: 0 }, ['-1', '1 GiB']],
  INSTANCE: ['one', { instance: 'one' }, []],
  NATIVE_DIR: ['native', { nativeDir: resolve('native') }, []],
  ATTACHMENT_QUOTA_BYTES: ['1', { attachmentQuotaBytes: 1 }, ['-1', '1 GiB']],
  ATTACHMENT_QUOTA_COUNT: ['1', { attachmentQuotaCount: 1 }, ['-1', 'many']],
  MIN_FREE_BYTES: ['0', { minFreeBytes: 0 }, ['-1', '1 GiB']],
  ALLOW_FILE_SYSTEM: ['btrfs', { allowedFileSystem: 'btrfs' }, []],
  LITESTREAM: ['on', { litestream: true }, ['yes']],
  TOKEN_ISSUER: ['issuer', { tokenIssuer: 'issuer' }, []],
  TOKEN_AUDIENCE: ['audience', { tokenAudience: 'audience' }, []],
  APP_NAME: ['My App', { appName: 'My App' }, ['two\nlines', 'a'.repeat(101)]],
  APP_LINK_URL: [
    'myapp://',
    { appLinkUrl: 'myapp://auth' },
    ['my-app', 'my app://', 'myapp://auth?x=1'],
  ],
  CLIENT_PACKAGE: ['off', { clientPackage: false }, ['no']],
  PAYLOAD_ENCRYPTION: ['required', { payloadEncryption: 'required' }, ['on', 'REQUIRED']],
  SMTP_URL: [
    'smtp://user:password@host:587',
    { smtpUrl: 'smtp://user:password@host:587' },
    ['http://a.b', 'smtp://ann:12/3@mail.example.com'],
  ],
  MAIL_FROM: [
    'App <app@example.com>',
    { mailFrom: 'App <app@example.com>' },
    ['App', 'App <app@example.com>\nBcc: <b@example.com>'],
  ],
  ...IDENTITY_VARIABLES,
  ...APP_LINK_VARIABLES,
  SOCIAL_NONCE: ['required', { socialNonce: 'required' }, ['always']],
  SIGN_UP: ['invite', { signUp: 'invite' }, ['sometimes']],
  PASSWORD_MIN_LENGTH: ['256', { passwordMinLength: 256 }, ['7', '257', '8.5']],
  PASSWORD_HASHING: ['strong', { passwordHashing: 'strong' }, ['weak']],
  WEBHOOK_TOKEN: [
    'old, new',
    { webhookTokens: ['old', 'new'] },
    [',', 'a,', 'a,b,c', 'with space', 'ümlaut'],
  ],
  ...STORE_VARIABLES,
  WEBHOOK_SIGNING_SECRET: ['secret', { webhookSigningSecret: 'secret' }, []],
  RC_API_KEY: ['key', { rcApiKey: 'key' }, []],
  RC_API_URL: ['https://rc.test/v1/', { rcApiUrl: 'https://rc.test/v1' }, ['http://rc.test', 'x']],
  BILLING_SANDBOX: ['ignore', { billingSandbox: 'ignore' }, ['off']],
  RATES_PROVIDER: [
    'ecb, open-er-api',
    { ratesProvider: 'ecb,open-er-api' },
    ['bank', 'ECB', 'ecb,bank', 'ecb,off', 'ecb,ecb'],
  ],
  RATES_URL: [
    'http://127.0.0.1/rates',
    { ratesUrl: 'http://127.0.0.1/rates' },
    ['http://example.com/', 'file:///etc/passwd', 'x'],
  ],
  RATES_API_KEY: ['key', { ratesApiKey: 'key' }, []],
  RATES_BASE: ['eur', { ratesBase: 'EUR' }, ['DOLLAR', '12', 'XYZ']],
  CONSOLE: ['off', { console: false }, ['no']],
  CONSOLE_NETWORKS: ['10.0.0.1', { consoleNetworks: ['10.0.0.1'] }, ['10.0.0', 'office']],
  CONSOLE_PORT: ['3001', { consolePort: 3001 }, ['65536', '3000']],
  AUDIT_KEEP_DAYS: ['1', { auditKeepDays: 1 }, ['0', '36501']],
  NOTIFY_SOCKET: ['/run/notify', { notifySocket: '/run/notify' }, null],
  SERVICE_ENVIRONMENT_FILE: ['/etc/homeport.env', { environmentFile: '/etc/homeport.env' }, null],
  WATCHDOG_USEC: ['30000000', { watchdogMs: 30_000 }, null],
  ALERT_EMAIL: [
    'ops@example.com',
    { alertEmail: 'ops@example.com' },
    ['ops', 'a@b@c', 'A <a@b.c>'],
  ],
  WEBHOOKS_ALLOW_PRIVATE: ['on', { webhooksAllowPrivate: true }, ['yes']],
  METRICS_TOKEN: ['token', { metricsToken: 'token' }, ['with space']],
  BACKUP_KEY: ['12345678', { backupKey: '12345678' }, ['1234567']],
  BACKUP_DIR: ['backups', { backupDir: resolve('backups') }, ['s3:/x', 'https://a.b/c']],
  BACKUP_S3_ACCESS_KEY_ID: ['id', { backupS3: { accessKeyId: 'id', secretAccessKey: '' } }, []],
  BACKUP_S3_SECRET_ACCESS_KEY: [
    'key',
    { backupS3: { accessKeyId: '', secretAccessKey: 'key' } },
    [],
  ],
  BACKUP_SCHEDULE: ['15 2 * * *', { backupSchedule: '15 2 * * *' }, ['daily', '61 * * * *']],
  BACKUP_KEEP: ['1', { backupKeep: 1 }, ['0', '1001']],
  LOG_LEVEL: ['silent', { logLevel: 'silent' }, ['loud']],
  LOG_FILE: ['a.log', { logFile: resolve('a.log') }, []],
  LOG_FILE_BYTES: ['65536', { logFileBytes: 65_536 }, ['65535', '1 MB']],
  LOG_FILE_KEEP: ['0', { logFileKeep: 0 }, ['-1', '1001']],
  LOG_FORMAT: ['text', { logFormat: 'text' }, ['xml']],
  NO_COLOR: ['1', { logColors: false }, null],
}

/** The other variables that each of these variables requires. */
const REQUIRED_WITH: Record<string, Record<string, string>> = {
  TLS_CERT: { TLS_KEY: 'key.pem' },
  TLS_KEY: { TLS_CERT: 'cert.pem' },
  DATABASE_URL: { SECRET_KEY: 'k'.repeat(32) },
  FILES_URL: { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'key' },
  ...REQUIRED_WITH_STORE_VARIABLES,
  ...REQUIRED_WITH_IDENTITY_VARIABLES,
}

test('the table lists every variable that the configuration reads', () => {
  const names = new Set<string>()
  const recorder = new Proxy({} as Record<string, string>, {
    get(_, name) {
      names.add(String(name))
      return undefined
    },
  })
  readConfig({}, recorder)
  expect(Object.keys(VARIABLES).toSorted()).toEqual([...names].toSorted())
})

test.each(Object.entries(VARIABLES))('reads %s', (name, [text, parsed, invalid]) => {
  const padded = invalid === null ? text : ` ${text} `
  expect(readConfig({}, {})).not.toMatchObject(parsed)
  expect(readConfig({}, { ...REQUIRED_WITH[name], [name]: padded })).toMatchObject(parsed)
})

const validated = Object.entries(VARIABLES).filter(([, [, , invalid]]) => invalid !== null)

test.each(validated)(
  `validates %s without repeating its value ${fault(142)}`,
  (name, [, , invalid]) => {
    for (const value of ['', ...(invalid ?? [])]) {
      const message = configErrorFor({ ...REQUIRED_WITH[name], [name]: value })
      expect(message).toStartWith(name)
      if (value.trim().length > 3) expect(message).not.toContain(value)
    }
  },
)

test(`reports all errors at once ${fault(142)}`, () => {
  const message = configErrorFor({
    PORT: 'x',
    RATES_BASE: 'x',
    RATES_PROVIDER: 'openexchangerates',
  })
  expect(message.split('\n').map((line) => line.split(' ')[0])).toEqual([
    'PORT',
    'RATES_BASE',
    'RATES_PROVIDER',
  ])
})

test.each([
  ['myapp://', 'myapp://auth'],
  ['myapp://auth', 'myapp://auth'],
  ['myapp://auth/', 'myapp://auth'],
  ['myapp://open', 'myapp://open/auth'],
  ['https://app.example.com', 'https://app.example.com/auth'],
  ['https://app.example.com/auth/', 'https://app.example.com/auth'],
])('deep links for %s begin with %s', (APP_LINK_URL, prefix) => {
  expect(readConfig({}, { APP_LINK_URL }).appLinkUrl).toBe(prefix)
})

test('reports near misses as misspelled variables and ignores unrelated ones', () => {
  const typos = ['SMTP_URI', 'DATADIR', 'homeport_base_url', 'WEBHOOK_TOKENS', 'TRUSTED_PROXYS']
  const unrelated = ['HOME', 'POST', 'HOSTNAME', 'NODE_ENV', 'DATABASE', 'BASH_ENV', 'LOGNAME']
  const environment = Object.fromEntries([...typos, ...unrelated].map((name) => [name, 'x']))
  expect(readConfig({}, environment).misspelled).toEqual([
    { name: 'SMTP_URI', meant: 'SMTP_URL' },
    { name: 'DATADIR', meant: 'DATA_DIR' },
    { name: 'homeport_base_url', meant: 'BASE_URL' },
    { name: 'WEBHOOK_TOKENS', meant: 'WEBHOOK_TOKEN' },
    { name: 'TRUSTED_PROXYS', meant: 'TRUSTED_PROXIES' },
  ])
})

test('rejects the example token from the manual', () => {
  const WEBHOOK_TOKEN = 'replace-me-by-32-random-characters'
  expect(configErrorFor({ WEBHOOK_TOKEN })).toContain('openssl rand')
})
