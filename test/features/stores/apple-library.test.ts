import { expect, test } from 'bun:test'
import type { X509Certificate } from 'node:crypto'
import {
  Environment,
  SignedDataVerifier,
  VerificationException,
} from '@apple/app-store-server-library'
import { AppleTokenError } from '../../../src/features/stores/apple/certificates.ts'
import { readNotification } from '../../../src/features/stores/apple/notification.ts'
import { createTokenVerifier } from '../../../src/features/stores/apple/token.ts'
import { APP, notificationCases } from '../../support/app-store/notifications.ts'
import { signer, tokenCases } from '../../support/app-store/tokens.ts'

/** Tokens that Homeport refuses and Apple's library accepts, and why Homeport refuses them. */
const STRICTER: Record<string, string> = {
  'a huge third certificate': 'The library ignores the third certificate; Homeport limits it.',
  'a critical header': 'The library ignores `crit`, against RFC 7515.',
  'no signing date': 'The library then checks the certificates at the current time.',
  'a leaf that is a CA': 'The library does not check this.',
  'renewal info of another purchase': 'The library verifies each token on its own.',
  'renewal info of another bundle': 'The library verifies each token on its own.',
}

/** Tokens that Homeport accepts and Apple's library refuses, and why Homeport accepts them. */
const MORE_LENIENT: Record<string, string> = {
  'an expired `exp` claim': 'Apple sends none, and old notifications must stay valid.',
  'a price that is a string': 'A field of the wrong type is read as missing.',
  'a transaction whose price is a string': 'A field of the wrong type is read as missing.',
  'an id that is a number': 'The signature is valid; the webhook then refuses the notification.',
  'a transaction without a bundle': 'The signed notification around it names the bundle.',
}

test.each(tokenCases.map((tokenCase) => [tokenCase.what, tokenCase] as const))(
  "judges a token like Apple's library: %s",
  async (what, { token, root }) => {
    const verify = createTokenVerifier(root)
    const ours = await accepts(() => verify(token))
    const theirs = await accepts(() =>
      verifierFor(root, Environment.SANDBOX).verifyAndDecodeTransaction(token as string),
    )
    expect({ ours, theirs }).toEqual(expected(what, ours))
  },
)

test.each(notificationCases)(
  "accepts and refuses the same notifications as Apple's library: %s",
  async (what, isAccepted, signedPayload) => {
    const verify = createTokenVerifier(signer.root)
    const ours = await accepts(() => readNotification(signedPayload, verify, [APP]))
    const inSandbox = await accepts(() => readAll(signedPayload, Environment.SANDBOX))
    const inProduction = await accepts(() => readAll(signedPayload, Environment.PRODUCTION))
    expect(ours).toBe(isAccepted)
    expect({ ours, theirs: inSandbox || inProduction }).toEqual(expected(what, ours))
  },
)

test('every listed difference belongs to a test case', () => {
  const names = [...tokenCases.map(({ what }) => what), ...notificationCases.map(([what]) => what)]
  expect(new Set(names).size).toBe(names.length)
  expect(names).toEqual(expect.arrayContaining(Object.keys({ ...STRICTER, ...MORE_LENIENT })))
})

/** Both verdicts, given ours: the same, unless the difference is listed. */
function expected(what: string, ours: boolean) {
  if (what in STRICTER) return { ours: false, theirs: true }
  if (what in MORE_LENIENT) return { ours: true, theirs: false }
  return { ours, theirs: ours }
}

/** Verifies a notification and what it contains with Apple's library, as its documentation shows. */
async function readAll(signedPayload: string, environment: Environment) {
  const verifier = verifierFor(signer.root, environment)
  const { data } = await verifier.verifyAndDecodeNotification(signedPayload)
  const { signedTransactionInfo, signedRenewalInfo } = data ?? {}
  if (signedTransactionInfo !== undefined) {
    await verifier.verifyAndDecodeTransaction(signedTransactionInfo)
  }
  if (signedRenewalInfo !== undefined) await verifier.verifyAndDecodeRenewalInfo(signedRenewalInfo)
}

/** Without its online checks: the fake root has no OCSP responder. */
function verifierFor(root: X509Certificate, environment: Environment) {
  return new SignedDataVerifier([root.raw], false, environment, APP.bundleId, APP.appleId)
}

/** Whether a verification passes. Throws if it fails for another reason than the token. */
async function accepts(verify: () => unknown): Promise<boolean> {
  try {
    await verify()
    return true
  } catch (error) {
    if (error instanceof AppleTokenError || error instanceof VerificationException) return false
    throw error
  }
}
