import { expect, test } from 'bun:test'
import type { X509Certificate } from 'node:crypto'
import { APPLE_ROOT, AppleTokenError } from '../../../src/features/stores/apple/certificates.ts'
import { createTokenVerifier } from '../../../src/features/stores/apple/token.ts'
import { createAppleSigner } from '../../support/app-store/apple-signer.ts'
import { CLAIMS, GOOD, signer, tokenCases } from '../../support/app-store/tokens.ts'

/** One verifier for most tokens, to test that a cached chain does not make it accept other chains. */
const verify = createTokenVerifier(signer.root)

test('the pinned root is Apple Root CA - G3', () => {
  const { fingerprint256, subject, ca } = APPLE_ROOT
  expect(fingerprint256).toBe(
    '63:34:3A:BF:B8:9A:6A:03:EB:B5:7E:9B:3F:5F:A7:BE:7C:4F:5C:75:6F:30:17:B3:A8:C4:88:C3:65:3E:91:79',
  )
  expect([subject.split('\n')[0], ca]).toEqual(['CN=Apple Root CA - G3', true])
})

test('returns the claims of a good token, repeatedly', () => {
  for (const token of [GOOD, GOOD]) expect(verify(token)).toEqual(CLAIMS)
})

test.each(tokenCases.map((tokenCase) => [tokenCase.what, tokenCase] as const))(
  'accepts or refuses %s',
  (_what, { token, fault, root }) => {
    expect(faultOf(root, token)).toBe(fault)
  },
)

test('an app transaction is signed at its `receiptCreationDate`', async () => {
  const old = await createAppleSigner({ leaf: { to: '2025-01-01' } })
  const signedAt = (year: number) => old.sign({ receiptCreationDate: Date.UTC(year, 6) })
  expect(faultOf(old.root, signedAt(2024))).toBeNull()
  expect(faultOf(old.root, signedAt(2025))).toBe('wrong_signed_date')
})

test('Apple’s root does not verify a token signed under a test root', () => {
  expect(faultOf(APPLE_ROOT, GOOD)).toBe('untrusted_chain')
})

/** Why a token is refused; null if it is accepted. */
function faultOf(root: X509Certificate, token: unknown): string | null {
  try {
    const verifyUnder = root === signer.root ? verify : createTokenVerifier(root)
    verifyUnder(token)
    return null
  } catch (error) {
    if (error instanceof AppleTokenError) return error.fault
    throw error
  }
}
