import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { JWK } from 'jose'
import { isExposed } from '../lib/files/file-exposure.ts'
import type { SettingsReader } from './define-setting.ts'
import { externalUrl, hasNoSpaces } from './values.ts'

const ACKNOWLEDGEMENTS = ['recorded', 'claimed', 'never'] as const

/**
 * When the server acknowledges a Google purchase: once it is recorded, once a user has submitted it, or never, because
 * the app does.
 */
export type PlayAcknowledge = (typeof ACKNOWLEDGEMENTS)[number]

const TRANSFERS = ['on-request', 'never', 'always'] as const

/**
 * Whether a purchase moves to another user who submits it: only if the app asks the user first, never, or always.
 */
export type PurchaseTransfer = (typeof TRANSFERS)[number]

/** The settings of the app stores. */
export function readStores({ read, optional, choice, integer, all }: SettingsReader) {
  return {
    /** The apps whose notifications the App Store sends here. */
    appStoreApps: read<AppStoreApp[]>(
      'APP_STORE_APPS',
      [],
      'apps such as com.example.app:1234567890, separated by commas',
      appStoreApps,
    ),
    /** The key for Apple's API. */
    appStoreIssuerId: optional('APP_STORE_ISSUER_ID', 'an issuer id, a UUID', uuid),
    appStoreKeyId: optional('APP_STORE_KEY_ID', 'a key id of ten characters', keyId),
    appStoreKey: optional(
      'APP_STORE_KEY_FILE',
      'the path of the .p8 file from App Store Connect: a P-256 private key, not readable by other users (mode 0600, or 0440 for its own group)',
      keyFile,
    ),
    /** Only tests use other hosts and another root certificate than Apple's. */
    appStoreApiUrl: optional('APP_STORE_API_URL', 'a URL', apiUrl),
    appStoreRoot: optional('APP_STORE_ROOT_FILE', 'the path of a certificate', certificateFile),
    /** The package names of the apps on Google Play. */
    playPackages: all('PLAY_PACKAGES', 'package names, separated by commas', isPackageName),
    /** The service account that calls Google's API. */
    playAccount: optional(
      'PLAY_SERVICE_ACCOUNT_FILE',
      'the path of the JSON key of a service account from Google Cloud, not readable by other users (mode 0600, or 0440 for its own group)',
      serviceAccountFile,
    ),
    /** What the tokens of Pub/Sub must say. */
    playPushAccount: optional('PLAY_PUSH_ACCOUNT', 'the e-mail of a service account', emailAddress),
    playPushAudience: optional('PLAY_PUSH_AUDIENCE', 'a text without spaces', word),
    playPushSubscription: optional(
      'PLAY_PUSH_SUBSCRIPTION',
      'a name such as projects/my-project/subscriptions/homeport',
      subscriptionName,
    ),
    playAcknowledge: choice('PLAY_ACKNOWLEDGE', ACKNOWLEDGEMENTS, 'recorded'),
    /** Only tests use other hosts than Google's. */
    playApiUrl: optional('PLAY_API_URL', 'a URL', apiUrl),
    playTokenUrl: optional('PLAY_TOKEN_URL', 'a URL', apiUrl),
    playJwksUrl: optional('PLAY_JWKS_URL', 'a URL', apiUrl),
    purchaseTransfer: choice('PURCHASE_TRANSFER', TRANSFERS, 'on-request'),
    /** The ids of users whose test purchases give access in production. */
    sandboxTesters: all('SANDBOX_TESTERS', 'ids of users, separated by commas', hasNoSpaces),
    /** How long a purchase gives access after its end while the store is expected to report a renewal, in hours. */
    storeLenienceHours: integer('STORE_LENIENCE', 3, 0, 72),
    /** How long signed notifications are kept, in days. */
    storeEvidenceDays: integer('STORE_EVIDENCE_DAYS', 180, 0, 3650),
  }
}
export type StoreSettings = ReturnType<typeof readStores>

/** Errors for settings of stores that are each valid but contradict one another. */
export function storeContradictions(
  settings: StoreSettings,
): [isFault: boolean, message: string][] {
  const { appStoreApps, appStoreIssuerId, appStoreKeyId, appStoreKey } = settings
  const api = [appStoreIssuerId, appStoreKeyId, appStoreKey]
  const hasSome = api.some((part) => part !== null)
  const { playPackages, playAccount, playPushAccount } = settings
  return [
    [
      playPackages.length > 0 !== (playAccount !== null),
      'PLAY_PACKAGES and PLAY_SERVICE_ACCOUNT_FILE must be set together',
    ],
    [playPushAccount !== null && playAccount === null, 'PLAY_PUSH_ACCOUNT requires PLAY_PACKAGES'],
    [
      hasSome && api.includes(null),
      'APP_STORE_ISSUER_ID, APP_STORE_KEY_ID and APP_STORE_KEY_FILE must be set together',
    ],
    [hasSome && appStoreApps.length === 0, 'APP_STORE_KEY_FILE requires APP_STORE_APPS'],
  ]
}

/** An app of the developer: its bundle id, and its id in the App Store. */
export type AppStoreApp = { bundleId: string; appleId: number }

/** Parses bundle ids, each with the id of its app in the App Store. */
function appStoreApps(text: string): AppStoreApp[] | undefined {
  const apps = text.split(',').map((part) => {
    const [, bundleId = '', appleId = ''] = /^([A-Za-z0-9.-]+):(\d{1,15})$/.exec(part.trim()) ?? []
    return { bundleId, appleId: Number(appleId) }
  })
  return apps.every(({ bundleId }) => bundleId !== '') ? apps : undefined
}

/** A certificate in PEM or DER. */
function certificateFile(path: string): X509Certificate | undefined {
  try {
    return new X509Certificate(readFileSync(path))
  } catch {
    return undefined
  }
}

function uuid(text: string): string | undefined {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? text : undefined
}

function keyId(text: string): string | undefined {
  return /^[A-Z0-9]{10}$/.test(text) ? text : undefined
}

/** The private key in a file that other users cannot read. */
function keyFile(path: string): JWK | undefined {
  try {
    const key = createPrivateKey(readPrivate(path))
    const isP256 = key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
    return isP256 ? (key.export({ format: 'jwk' }) as JWK) : undefined
  } catch {
    return undefined
  }
}

/** A Google Cloud service account: its e-mail, and the key that it signs with. */
export type ServiceAccount = { email: string; keyId: string; privateKey: KeyObject }

function serviceAccountFile(path: string): ServiceAccount | undefined {
  try {
    const account = JSON.parse(readPrivate(path).toString('utf8'))
    const { type, client_email: email, private_key_id: keyId } = account
    if (type !== 'service_account') return undefined
    const privateKey = createPrivateKey(account.private_key)
    const isComplete = typeof email === 'string' && typeof keyId === 'string'
    return isComplete && privateKey.asymmetricKeyType === 'rsa'
      ? { email, keyId, privateKey }
      : undefined
  } catch {
    return undefined
  }
}

/** The content of a file that other users cannot read. Throws for any other file. */
function readPrivate(path: string): Buffer {
  if (isExposed(statSync(path), 0o077)) throw new Error('others can read the file')
  return readFileSync(path)
}

function apiUrl(text: string): string | undefined {
  return externalUrl(text)?.replace(/\/+$/, '')
}

function isPackageName(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$/.test(text)
}

function subscriptionName(text: string): string | undefined {
  return /^projects\/[^/\s]+\/subscriptions\/[^/\s]+$/.test(text) ? text : undefined
}

function emailAddress(text: string): string | undefined {
  return /^[^@\s]+@[^@\s]+$/.test(text) ? text : undefined
}

function word(text: string): string | undefined {
  return hasNoSpaces(text) ? text : undefined
}
