import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { JWK } from 'jose'
import { tryTo } from '../../lib/errors.ts'
import { isExposed } from '../../lib/files/file-exposure.ts'
import {
  choice,
  integer,
  listKind,
  setting,
  testUrl,
  text,
  type ValuesOf,
  value,
} from '../setting.ts'
import { hasNoSpaces, NO_SPACES } from '../values.ts'

/** When the server acknowledges a Google purchase; `never`: the app does. */
const ACKNOWLEDGEMENTS = ['recorded', 'claimed', 'never'] as const

/** Whether a purchase moves to another user who submits it; `on-request`: only if the app asks the user first. */
const TRANSFERS = ['on-request', 'never', 'always'] as const

export const storeSettings = {
  appStoreApps: setting(
    'APP_STORE_APPS',
    value('apps such as com.example.app:1234567890, separated by commas', appStoreApps, []),
    'apps whose purchases the App Store reports here, each with its bundle id and Apple id: `com.example.app:1234567890`; required for its webhook',
    { page: 'app-store.md' },
  ),
  appStoreIssuerId: setting(
    'APP_STORE_ISSUER_ID',
    text('an issuer id, a UUID', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i),
    'the issuer of the In-App Purchase key for Apple’s API, which recovers missed notifications',
  ),
  appStoreKeyId: setting(
    'APP_STORE_KEY_ID',
    text('a key id of ten characters', /^[A-Z0-9]{10}$/),
    'the id of that key',
  ),
  appStoreKey: setting(
    'APP_STORE_KEY_FILE',
    value(
      'the path of the .p8 file from App Store Connect: a P-256 private key, not readable by other users (mode 0600, or 0440 for its own group)',
      keyFile,
    ),
    'its `.p8` file, with mode 0600, or 0440 for a group of the server',
  ),
  playPackages: setting(
    'PLAY_PACKAGES',
    listKind('package names', isPackageName),
    'package names of the apps on Google Play; required for its webhook',
    { page: 'google-play.md' },
  ),
  playAccount: setting(
    'PLAY_SERVICE_ACCOUNT_FILE',
    value(
      'the path of the JSON key of a service account from Google Cloud, not readable by other users (mode 0600, or 0440 for its own group)',
      serviceAccountFile,
    ),
    'the JSON key of the service account that queries Google about purchases, with mode 0600, or 0440 for a group of the server; required with `PLAY_PACKAGES`',
  ),
  playPushAccount: setting(
    'PLAY_PUSH_ACCOUNT',
    text('the e-mail of a service account', /^[^@\s]+@[^@\s]+$/),
    'the service account that signs the notifications of Pub/Sub; required for the webhook',
  ),
  playPushAudience: setting(
    'PLAY_PUSH_AUDIENCE',
    text('text without spaces', NO_SPACES),
    'the audience of the push subscription',
    { shown: 'the webhook’s URL' },
  ),
  playPushSubscription: setting(
    'PLAY_PUSH_SUBSCRIPTION',
    text(
      'a name such as projects/my-project/subscriptions/homeport',
      /^projects\/[^/\s]+\/subscriptions\/[^/\s]+$/,
    ),
    'the name of the push subscription',
    { shown: 'any' },
  ),
  playAcknowledge: setting(
    'PLAY_ACKNOWLEDGE',
    choice(ACKNOWLEDGEMENTS, 'recorded'),
    'when the server acknowledges a Google purchase: once `recorded`, once `claimed` by a user, or `never`',
  ),
  purchaseTransfer: setting(
    'PURCHASE_TRANSFER',
    choice(TRANSFERS, 'on-request'),
    'whether a purchase moves to another user who submits it: only if the user asks, `never` or `always`',
  ),
  sandboxTesters: setting(
    'SANDBOX_TESTERS',
    listKind('ids of users', hasNoSpaces),
    'ids of users whose test purchases give access in production',
  ),
  storeGraceHours: setting(
    'STORE_GRACE_HOURS',
    integer(0, 72, 3),
    'hours of access after the end of a period while the store is expected to report a renewal',
    { aliases: ['STORE_LENIENCE'] },
  ),
  storeRecordDays: setting(
    'STORE_RECORD_DAYS',
    integer(0, 3650, 180),
    'how long signed notifications and transactions are kept, in days; 0 keeps none',
    { aliases: ['STORE_EVIDENCE_DAYS'] },
  ),
  appStoreApiUrl: testUrl('APP_STORE_API_URL', 'purchases are not checked with Apple'),
  appStoreRoot: setting(
    'APP_STORE_ROOT_FILE',
    value('the path of a certificate', certificateFile),
    'purchases need not be signed by Apple',
    { isInternal: true },
  ),
  playApiUrl: testUrl('PLAY_API_URL', 'purchases are not checked with Google'),
  playTokenUrl: testUrl('PLAY_TOKEN_URL', 'Google does not issue the access tokens'),
  playJwksUrl: testUrl('PLAY_JWKS_URL', 'notifications need not come from Google'),
}
export type StoreSettings = ValuesOf<typeof storeSettings>

export function storeContradictions(settings: StoreSettings) {
  const { appStoreApps, appStoreIssuerId, appStoreKeyId, appStoreKey } = settings
  const api = [appStoreIssuerId, appStoreKeyId, appStoreKey]
  const hasSome = api.some((part) => part !== null)
  const { playPackages, playAccount, playPushAccount } = settings
  return [
    playPackages.length > 0 !== (playAccount !== null) &&
      'PLAY_PACKAGES and PLAY_SERVICE_ACCOUNT_FILE must be set together',
    playPushAccount !== null && playAccount === null && 'PLAY_PUSH_ACCOUNT requires PLAY_PACKAGES',
    hasSome &&
      api.includes(null) &&
      'APP_STORE_ISSUER_ID, APP_STORE_KEY_ID and APP_STORE_KEY_FILE must be set together',
    hasSome && appStoreApps.length === 0 && 'APP_STORE_KEY_FILE requires APP_STORE_APPS',
  ]
}

/** An app of the developer: its bundle id, and its id in the App Store. */
export type AppStoreApp = { bundleId: string; appleId: number }

function appStoreApps(text: string): AppStoreApp[] | undefined {
  const apps = text.split(',').map((part) => {
    const [, bundleId = '', appleId = ''] = /^([A-Za-z0-9.-]+):(\d{1,15})$/.exec(part.trim()) ?? []
    return { bundleId, appleId: Number(appleId) }
  })
  return apps.every(({ bundleId }) => bundleId !== '') ? apps : undefined
}

/** A certificate in PEM or DER. */
function certificateFile(path: string): X509Certificate | undefined {
  return tryTo(() => new X509Certificate(readFileSync(path)))
}

function keyFile(path: string): JWK | undefined {
  return tryTo(() => {
    const key = createPrivateKey(readPrivate(path))
    const isP256 = key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
    return isP256 ? (key.export({ format: 'jwk' }) as JWK) : undefined
  })
}

/** A Google Cloud service account: its e-mail, and the key that it signs with. */
export type ServiceAccount = { email: string; keyId: string; privateKey: KeyObject }

function serviceAccountFile(path: string): ServiceAccount | undefined {
  return tryTo(() => {
    const account = JSON.parse(readPrivate(path).toString('utf8'))
    const { type, client_email: email, private_key_id: keyId } = account
    if (type !== 'service_account') return undefined
    const privateKey = createPrivateKey(account.private_key)
    const isComplete = typeof email === 'string' && typeof keyId === 'string'
    return isComplete && privateKey.asymmetricKeyType === 'rsa'
      ? { email, keyId, privateKey }
      : undefined
  })
}

/** The content of a file that other users cannot read. Throws for any other file. */
function readPrivate(path: string): Buffer {
  if (isExposed(statSync(path), 0o077)) throw new Error('others can read the file')
  return readFileSync(path)
}

function isPackageName(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$/.test(text)
}
