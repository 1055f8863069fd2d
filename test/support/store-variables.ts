import { expect } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { rootCertificates } from 'node:tls'
import type { Config } from '../../src/config/config.ts'

const ROOT_FILE = join(mkdtempSync(join(tmpdir(), 'homeport-root-')), 'root.cer')
writeFileSync(ROOT_FILE, `${rootCertificates[0]}`)
const ISSUER_ID = '57246542-96fe-1a63-e053-0824d011072a'

/** Writes a new private key to a file. */
function keyFile(namedCurve: string, mode: number): string {
  const path = join(dirname(ROOT_FILE), `${namedCurve}-${mode}.p8`)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve })
  writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  // Unlike the mode of a new file, this does not depend on the umask.
  chmodSync(path, mode)
  return path
}

/** Writes the key of a new service account, as Google Cloud does. */
function accountFile(type: string, mode: number): string {
  const path = join(dirname(ROOT_FILE), `${type}-${mode}.json`)
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const account = {
    type,
    client_email: 'play@example.iam.gserviceaccount.com',
    private_key_id: 'key-1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
  writeFileSync(path, JSON.stringify(account))
  chmodSync(path, mode)
  return path
}

/** A valid value of each variable of the app stores, its parsed form, and invalid values. */
export const STORE_VARIABLES: Record<
  string,
  [value: string, parsed: Partial<Config>, invalid: string[]]
> = {
  APP_STORE_APPS: [
    'com.example.app:123, com.example.two:4',
    {
      appStoreApps: [
        { bundleId: 'com.example.app', appleId: 123 },
        { bundleId: 'com.example.two', appleId: 4 },
      ],
    },
    ['com.example.two', 'com.example.app:x', 'no bundle:17'],
  ],
  APP_STORE_ROOT_FILE: [
    ROOT_FILE,
    { appStoreRoot: expect.anything() },
    ['/nowhere.pem', '/etc/hostname'],
  ],
  APP_STORE_ISSUER_ID: [ISSUER_ID, { appStoreIssuerId: ISSUER_ID }, ['57246542']],
  APP_STORE_KEY_ID: ['ABCDE12345', { appStoreKeyId: 'ABCDE12345' }, ['ABCDE', 'abcde12345']],
  APP_STORE_KEY_FILE: [
    keyFile('P-256', 0o600),
    { appStoreKey: expect.anything() },
    ['/nowhere.p8', ROOT_FILE, keyFile('P-256', 0o644), keyFile('P-384', 0o600)],
  ],
  APP_STORE_API_URL: [
    'http://127.0.0.1:1234',
    { appStoreApiUrl: 'http://127.0.0.1:1234' },
    ['http://example.com', 'x'],
  ],
  PLAY_PACKAGES: [
    'com.example.app, com.example.two',
    { playPackages: ['com.example.app', 'com.example.two'] },
    ['example', 'com.example.app:1', 'com.example app'],
  ],
  PLAY_SERVICE_ACCOUNT_FILE: [
    accountFile('service_account', 0o600),
    { playAccount: expect.objectContaining({ email: 'play@example.iam.gserviceaccount.com' }) },
    [
      '/nowhere.json',
      ROOT_FILE,
      accountFile('authorized_user', 0o600),
      accountFile('service_account', 0o644),
    ],
  ],
  PLAY_PUSH_ACCOUNT: [
    'push@example.iam.gserviceaccount.com',
    { playPushAccount: 'push@example.iam.gserviceaccount.com' },
    ['push', 'a b@example.com'],
  ],
  PLAY_PUSH_AUDIENCE: ['homeport', { playPushAudience: 'homeport' }, ['with space']],
  PLAY_PUSH_SUBSCRIPTION: [
    'projects/a/subscriptions/b',
    { playPushSubscription: 'projects/a/subscriptions/b' },
    ['b', 'projects/a/topics/b'],
  ],
  PLAY_ACKNOWLEDGE: ['claimed', { playAcknowledge: 'claimed' }, ['always']],
  PLAY_API_URL: ['http://127.0.0.1:1', { playApiUrl: 'http://127.0.0.1:1' }, ['x']],
  PLAY_TOKEN_URL: ['http://127.0.0.1:1', { playTokenUrl: 'http://127.0.0.1:1' }, ['x']],
  PLAY_JWKS_URL: ['http://127.0.0.1:1', { playJwksUrl: 'http://127.0.0.1:1' }, ['x']],
  PURCHASE_TRANSFER: ['never', { purchaseTransfer: 'never' }, ['sometimes']],
  SANDBOX_TESTERS: ['a, b', { sandboxTesters: ['a', 'b'] }, ['a,', 'with space']],
  STORE_GRACE_HOURS: ['0', { storeGraceHours: 0 }, ['-1', '73', '1.5']],
  STORE_LENIENCE: ['0', { storeGraceHours: 0 }, ['-1', '73', '1.5']],
  STORE_RECORD_DAYS: ['0', { storeRecordDays: 0 }, ['-1', '3651']],
  STORE_EVIDENCE_DAYS: ['0', { storeRecordDays: 0 }, ['-1', '3651']],
  STRIPE_API_KEY: ['rk_live_1', { stripeKey: 'rk_live_1' }, ['rk_test_1', 'whsec_1', 'sk_live_']],
  STRIPE_WEBHOOK_SECRET: [
    'whsec_1, whsec_2',
    { stripeSecrets: ['whsec_1', 'whsec_2'] },
    ['a,b,c', 'a b'],
  ],
  STRIPE_SANDBOX_API_KEY: ['sk_test_1', { stripeSandboxKey: 'sk_test_1' }, ['sk_live_1', 'x']],
  STRIPE_SANDBOX_WEBHOOK_SECRET: ['whsec_1', { stripeSandboxSecrets: ['whsec_1'] }, ['a,b,c']],
  CHECKOUT_ORIGINS: [
    'https://a.example, http://localhost:5173',
    { checkoutOrigins: ['https://a.example', 'http://localhost:5173'] },
    ['https://a.example/', 'myapp://', '*', 'https://u@a.example'],
  ],
  STRIPE_GRACE_DAYS: ['0', { stripeGraceDays: 0 }, ['-1', '63', '1.5']],
  STRIPE_ON_USER_DELETION: ['cancel', { stripeOnUserDeletion: 'cancel' }, ['keep']],
  STRIPE_TAX: ['on', { stripeTax: true }, ['yes']],
  STRIPE_PROMOTION_CODES: ['on', { stripePromotionCodes: true }, ['yes']],
  STRIPE_PORTAL_CONFIGURATION: ['bpc_1', { stripePortal: 'bpc_1' }, ['1', 'bpc_']],
  STRIPE_API_URL: ['http://127.0.0.1:1', { stripeApiUrl: 'http://127.0.0.1:1' }, ['x']],
}

/** The other variables that each of these variables requires. */
export const REQUIRED_WITH_STORE_VARIABLES: Record<string, Record<string, string>> = {
  APP_STORE_ISSUER_ID: {
    APP_STORE_APPS: 'a.b:1',
    APP_STORE_KEY_ID: 'ABCDE12345',
    APP_STORE_KEY_FILE: keyFile('P-256', 0o600),
  },
  PLAY_PACKAGES: { PLAY_SERVICE_ACCOUNT_FILE: accountFile('service_account', 0o600) },
  PLAY_SERVICE_ACCOUNT_FILE: { PLAY_PACKAGES: 'com.example.app' },
  PLAY_PUSH_ACCOUNT: {
    PLAY_PACKAGES: 'com.example.app',
    PLAY_SERVICE_ACCOUNT_FILE: accountFile('service_account', 0o600),
  },
  APP_STORE_KEY_ID: {
    APP_STORE_APPS: 'a.b:1',
    APP_STORE_ISSUER_ID: ISSUER_ID,
    APP_STORE_KEY_FILE: keyFile('P-256', 0o600),
  },
  APP_STORE_KEY_FILE: {
    APP_STORE_APPS: 'a.b:1',
    APP_STORE_ISSUER_ID: ISSUER_ID,
    APP_STORE_KEY_ID: 'ABCDE12345',
  },
}
