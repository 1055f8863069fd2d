import { CLAIMS, signer, stranger } from './tokens.ts'

const APPLE_ID = 1_234_567_890
export const APP = { bundleId: CLAIMS.bundleId, appleId: APPLE_ID }

const { bundleId, originalTransactionId, signedDate } = CLAIMS
const sandbox = { bundleId, environment: 'Sandbox' }
const production = { bundleId, environment: 'Production', appAppleId: APPLE_ID }
const transaction = { ...CLAIMS, productId: 'pro', expiresDate: signedDate, price: 9990 }
const renewal = { originalTransactionId, environment: 'Sandbox', autoRenewStatus: 1, signedDate }

/** A signed notification about a transaction and its renewal info; a null token is left out. */
function notification({
  type = 'DID_RENEW',
  data = {},
  transactionToken = signer.sign(transaction),
  renewalToken = signer.sign(renewal),
  ...claims
}: {
  type?: string
  data?: object
  transactionToken?: unknown
  renewalToken?: unknown
  [claim: string]: unknown
} = {}): string {
  return signer.sign({
    notificationType: type,
    notificationUUID: 'a',
    version: '2.0',
    signedDate,
    data: {
      ...sandbox,
      ...(transactionToken === null ? {} : { signedTransactionInfo: transactionToken }),
      ...(renewalToken === null ? {} : { signedRenewalInfo: renewalToken }),
      ...data,
    },
    ...claims,
  })
}

/** A notification about something other than a purchase. */
function about(subject: object): string {
  return signer.sign({ notificationType: 'OTHER', notificationUUID: 'a', signedDate, ...subject })
}

const withTransaction = (claims: object) =>
  notification({ transactionToken: signer.sign({ ...transaction, ...claims }) })
const withRenewal = (claims: object) =>
  notification({ renewalToken: signer.sign({ ...renewal, ...claims }) })
const withData = (data: object) => notification({ data })

const inProduction = notification({
  data: production,
  transactionToken: signer.sign({ ...transaction, environment: 'Production' }),
  renewalToken: signer.sign({ ...renewal, environment: 'Production' }),
})

/** Valid and hostile notifications from the App Store. */
export const notificationCases: [what: string, isAccepted: boolean, signedPayload: string][] = [
  ['a notification in the sandbox', true, notification()],
  ['a notification in production', true, inProduction],
  ['no renewal info', true, notification({ renewalToken: null })],
  ['no transaction', true, notification({ transactionToken: null, renewalToken: null })],
  ['an unknown type', true, notification({ type: 'SOMETHING_NEW', subtype: 'UNHEARD_OF' })],
  ['an unknown field', true, withTransaction({ novel: { deep: true } })],
  ['an unknown status', true, withData({ status: 99 })],
  ['no id', true, notification({ notificationUUID: undefined })],
  ['an id that is a number', true, notification({ notificationUUID: 7 })],
  ['a transaction whose price is a string', true, withTransaction({ price: '9990' })],
  ['times with fractions', true, withTransaction({ expiresDate: signedDate + 0.5 })],
  ['a summary', true, about({ summary: sandbox })],
  ['app data', true, about({ appData: sandbox })],
  [
    'an external purchase',
    true,
    about({
      externalPurchaseToken: { bundleId, appAppleId: APPLE_ID, externalPurchaseId: 'a' },
    }),
  ],
  [
    'an external purchase in the sandbox',
    true,
    about({
      externalPurchaseToken: { bundleId, externalPurchaseId: 'SANDBOX_a' },
    }),
  ],
  ['another bundle', false, withData({ bundleId: 'com.example.other' })],
  ['the id of another app', false, withData({ ...production, appAppleId: 1 })],
  ['no app id in production', false, withData({ ...production, appAppleId: undefined })],
  ['the Xcode environment', false, withData({ environment: 'Xcode' })],
  ['the LocalTesting environment', false, withData({ environment: 'LocalTesting' })],
  ['no environment', false, withData({ environment: undefined })],
  ['no subject', false, about({})],
  ['a summary of another app', false, about({ summary: { ...sandbox, bundleId: 'x' } })],
  ['a transaction of another bundle', false, withTransaction({ bundleId: 'com.example.other' })],
  ['a transaction from production', false, withTransaction({ environment: 'Production' })],
  ['a transaction from Xcode', false, withTransaction({ environment: 'Xcode' })],
  ['a transaction without a bundle', true, withTransaction({ bundleId: undefined })],
  ['renewal info from production', false, withRenewal({ environment: 'Production' })],
  ['renewal info of another purchase', false, withRenewal({ originalTransactionId: '2000' })],
  ['renewal info of another bundle', false, withRenewal({ bundleId: 'com.example.other' })],
  [
    'a transaction signed by a stranger',
    false,
    notification({ transactionToken: stranger.sign(transaction) }),
  ],
  [
    'renewal info signed by a stranger',
    false,
    notification({ renewalToken: stranger.sign(renewal) }),
  ],
  ['a transaction that is not signed', false, notification({ transactionToken: transaction })],
  ['an empty transaction', false, notification({ transactionToken: '' })],
  ['a transaction as the notification', false, signer.sign(transaction)],
  [
    'a notification signed by a stranger',
    false,
    stranger.sign({ notificationType: 'TEST', data: sandbox, signedDate }),
  ],
]
