import { expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { ConfigError, readConfig } from '../src/config.ts'

test('without an environment everything has its default', () => {
  expect(readConfig({}, {})).toMatchObject({
    port: 3000,
    host: '0.0.0.0',
    dataDir: resolve('./data'),
    baseUrl: null,
    webhookTokens: [],
    ratesProvider: 'ecb',
    ratesBase: 'USD',
    passwordMinLength: 8,
    logLevel: 'info',
  })
})

test('flags win over the environment', () => {
  expect(readConfig({ PORT: '1' }, { PORT: '2', HOST: '::1' })).toMatchObject({
    port: 1,
    host: '::1',
  })
})

test.each([
  ['PORT', ['http', '65536', '-1', '1e3', '0x50', '']],
  ['HOST', ['two words', 'a/b', '']],
  ['DATA_DIR', ['', '  ']],
  [
    'BASE_URL',
    ['example.com', 'ftp://example.com', 'https://u:p@example.com', 'https://a.b/c', ''],
  ],
  ['WEBHOOK_TOKEN', ['', ',', 'a,', 'a,b,c', 'with space', 'ümlaut']],
  ['RATES_PROVIDER', ['bank', 'ECB', '']],
  ['RATES_URL', ['http://example.com/', 'file:///etc/passwd', 'x', '']],
  ['RATES_BASE', ['DOLLAR', '12', 'XYZ', '']],
  ['CORS_ORIGINS', ['*', 'web.example.org', 'https://a.b/', 'https://a.b,', '']],
  ['PAYLOAD_ENCRYPTION', ['on', 'REQUIRED', '']],
  ['PASSWORD_MIN_LENGTH', ['7', '257', '8.5', '']],
  ['MIN_FREE_BYTES', ['-1', '1 GiB', '']],
  ['LOG_LEVEL', ['loud', '']],
  ['LOG_FORMAT', ['xml', '']],
  ['SMTP_URL', ['http://a.b', 'smtp://ann:12/3@mail.example.com', '']],
  ['APP_NAME', ['two\nlines', '']],
  ['APP_LINK_URL', ['my-app', 'my app://', 'myapp://auth?x=1', '']],
])('142: %s is checked, and its value is never repeated', (name, values) => {
  for (const value of values) {
    const message = faultsOf({ [name]: value })
    expect(message).toContain(name)
    if (value.trim().length > 3) expect(message).not.toContain(value)
  }
})

test('142: every fault is named at once', () => {
  const message = faultsOf({ PORT: 'x', RATES_BASE: 'x', RATES_PROVIDER: 'openexchangerates' })
  expect(message.split('\n').map((line) => line.split(' ')[0])).toEqual([
    'PORT',
    'RATES_BASE',
    'RATES_API_KEY',
  ])
})

test.each([
  ['myapp://', 'myapp://auth'],
  ['myapp://auth', 'myapp://auth'],
  ['myapp://auth/', 'myapp://auth'],
  ['myapp://open', 'myapp://open/auth'],
  ['https://app.example.com', 'https://app.example.com/auth'],
  ['https://app.example.com/auth/', 'https://app.example.com/auth'],
])('deep links of %s begin with %s', (APP_LINK_URL, begin) => {
  expect(readConfig({}, { APP_LINK_URL }).appLinkUrl).toBe(begin)
})

test('names that are nearly ours are taken for misspelt, others for foreign', () => {
  const given = ['SMTP_URI', 'DATADIR', 'homeport_base_url', 'WEBHOOK_TOKENS', 'TRUSTED_PROXYS']
  const foreign = ['HOME', 'POST', 'HOSTNAME', 'NODE_ENV', 'DATABASE', 'BASH_ENV', 'LOGNAME']
  const environment = Object.fromEntries([...given, ...foreign].map((name) => [name, 'x']))
  expect(readConfig({}, environment).misspelled).toEqual([
    { name: 'SMTP_URI', meant: 'SMTP_URL' },
    { name: 'DATADIR', meant: 'DATA_DIR' },
    { name: 'homeport_base_url', meant: 'BASE_URL' },
    { name: 'WEBHOOK_TOKENS', meant: 'WEBHOOK_TOKEN' },
    { name: 'TRUSTED_PROXYS', meant: 'TRUSTED_PROXIES' },
  ])
})

test('the token that the manual shows is refused', () => {
  const WEBHOOK_TOKEN = 'replace-me-by-32-random-characters'
  expect(faultsOf({ WEBHOOK_TOKEN })).toContain('openssl rand')
})

function faultsOf(environment: Record<string, string>): string {
  try {
    readConfig({}, environment)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message
  }
  throw new Error(`${Object.keys(environment)} was taken`)
}
