import type { Config } from '../../src/config/config.ts'

/** A valid value of each variable of identity providers, its parsed form, and invalid values. */
export const IDENTITY_VARIABLES: Record<
  string,
  [value: string, parsed: Partial<Config>, invalid: string[]]
> = {
  GOOGLE_CLIENT_IDS: ['a, b', { googleClientIds: ['a', 'b'] }, ['a,', 'with space']],
  APPLE_CLIENT_IDS: ['a, b', { appleClientIds: ['a', 'b'] }, ['a,', 'with space']],
  APPLE_TEAM_ID: ['team', { appleTeamId: 'team' }, []],
  APPLE_KEY_ID: ['key', { appleKeyId: 'key' }, []],
  APPLE_PRIVATE_KEY: [
    'PRIVATE KEY\\nline',
    { applePrivateKey: 'PRIVATE KEY\nline' },
    ['AuthKey.p8'],
  ],
  OIDC_ISSUER: [
    'https://acme.test/tenant',
    { oidcIssuer: 'https://acme.test/tenant' },
    [
      'acme.test',
      'http://acme.test',
      'https://u:p@acme.test',
      'https://acme.test/?a',
      'https://b #',
    ],
  ],
  OIDC_CLIENT_IDS: ['a, b', { oidcClientIds: ['a', 'b'] }, ['a,', 'with space']],
  OIDC_NAME: ['Acme Ltd.', { oidcName: 'Acme Ltd.' }, ['two\nlines', 'a'.repeat(101)]],
  OIDC_EMAIL_DOMAINS: [
    'Acme.test, example.com',
    { oidcEmailDomains: ['acme.test', 'example.com'] },
    ['*.acme.test', '@acme.test', 'ann@acme.test', 'acme.test,'],
  ],
}

/** The other variables that each of these variables requires. */
export const REQUIRED_WITH_IDENTITY_VARIABLES: Record<string, Record<string, string>> = {
  APPLE_TEAM_ID: { APPLE_KEY_ID: 'key', APPLE_PRIVATE_KEY: 'PRIVATE KEY' },
  APPLE_KEY_ID: { APPLE_TEAM_ID: 'team', APPLE_PRIVATE_KEY: 'PRIVATE KEY' },
  APPLE_PRIVATE_KEY: { APPLE_TEAM_ID: 'team', APPLE_KEY_ID: 'key' },
  OIDC_ISSUER: { OIDC_CLIENT_IDS: 'id' },
  OIDC_CLIENT_IDS: { OIDC_ISSUER: 'https://acme.test' },
}
