import { expect, test } from 'bun:test'
import { readConfig } from '../src/config/config.ts'

test.each([
  ['CONSOLE_PORT', { CONSOLE_PORT: '8080', PORT: '8080' }],
  ['RATES_API_KEY', { RATES_PROVIDER: 'openexchangerates' }],
  ['APPLE_TEAM_ID', { APPLE_TEAM_ID: 'team', APPLE_KEY_ID: 'key' }],
  ['OIDC_CLIENT_IDS', { OIDC_ISSUER: 'https://acme.test' }],
  ['APP_STORE_KEY_ID', { APP_STORE_APPS: 'a.b:1', APP_STORE_ISSUER_ID: crypto.randomUUID() }],
  ['TLS_CERT', { TLS_KEY: 'key.pem' }],
  ['TLS_CERT', { TLS_CERT: 'cert.pem' }],
  ['S3_ACCESS_KEY_ID', { FILES_URL: 's3://bucket', S3_ACCESS_KEY_ID: 'id' }],
  ['SECRET_KEY', { DATABASE_URL: 'postgres://host/name' }],
])('reports an inconsistent configuration under %s', (name, environment) => {
  expect(() => readConfig({}, environment)).toThrow(name)
})

test('a session token is used only with its own pair of keys', () => {
  const s3Of = (environment: Record<string, string>) => readConfig({}, environment).s3
  const aws = {
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
    AWS_SESSION_TOKEN: 'c',
  }
  const own = { S3_ACCESS_KEY_ID: 'd', S3_SECRET_ACCESS_KEY: 'e' }
  const ownKeys = { accessKeyId: 'd', secretAccessKey: 'e' }
  expect(s3Of(aws)).toEqual({ accessKeyId: 'a', secretAccessKey: 'b', sessionToken: 'c' })
  expect(s3Of({ ...aws, ...own })).toEqual(ownKeys)
  expect(s3Of({ ...aws, ...own, S3_SESSION_TOKEN: 'f' })).toEqual({ ...ownKeys, sessionToken: 'f' })
})
