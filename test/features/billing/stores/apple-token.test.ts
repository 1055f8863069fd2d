import { expect, test } from 'bun:test'
import { createHmac, X509Certificate } from 'node:crypto'
import { APPLE_ROOT } from '../../../../src/features/billing/stores/apple/certificates.ts'
import { createTokenVerifier } from '../../../../src/features/billing/stores/apple/token.ts'
import { AppleTokenError } from '../../../../src/features/billing/stores/apple/token-error.ts'
import { type AppleSigner, createAppleSigner } from '../../../support/app-store/apple-signer.ts'

const signer = await createAppleSigner()
const other = await createAppleSigner()
const verify = createTokenVerifier(signer.root)
const SIGNED_AT = Date.UTC(2026, 6, 1)
const CLAIMS = { bundleId: 'com.example', signedDate: SIGNED_AT }
const GOOD = signer.sign(CLAIMS)

test('the pinned root is Apple Root CA - G3', () => {
  const { fingerprint256, subject, ca } = APPLE_ROOT
  expect(fingerprint256).toBe(
    '63:34:3A:BF:B8:9A:6A:03:EB:B5:7E:9B:3F:5F:A7:BE:7C:4F:5C:75:6F:30:17:B3:A8:C4:88:C3:65:3E:91:79',
  )
  expect([subject.split('\n')[0], ca]).toEqual(['CN=Apple Root CA - G3', true])
})

test('accepts a token signed by its chain, repeatedly and with any third certificate', () => {
  const foreignRoot = [...signer.x5c.slice(0, 2), other.x5c[2]]
  for (const token of [
    GOOD,
    GOOD,
    signer.sign(CLAIMS, { x5c: foreignRoot, kid: 'k', jku: 'http://x' }),
  ]) {
    expect(verify(token)).toEqual(CLAIMS)
  }
})

test.each<[string, () => unknown]>([
  ['wrong_chain', () => signer.sign(CLAIMS, { x5c: undefined })],
  ['wrong_chain', () => signer.sign(CLAIMS, { x5c: signer.x5c[0] })],
  ['wrong_chain', () => signer.sign(CLAIMS, { x5c: signer.x5c.slice(0, 1) })],
  ['wrong_chain', () => signer.sign(CLAIMS, { x5c: signer.x5c.slice(0, 2) })],
  ['wrong_chain', () => signer.sign(CLAIMS, { x5c: [...signer.x5c, signer.x5c[2]] })],
  ['wrong_chain', () => signer.sign(CLAIMS, { x5c: [1, 2, 3] })],
  ['wrong_chain', () => signer.sign(CLAIMS, { x5c: ['x', 'y', 'z'] })],
  [
    'wrong_chain',
    () => signer.sign(CLAIMS, { x5c: [signer.x5c[0], signer.x5c[1], 'A'.repeat(9_000)] }),
  ],
  ['untrusted_chain', () => other.sign(CLAIMS)],
  [
    'untrusted_chain',
    () => signer.sign(CLAIMS, { x5c: [signer.x5c[1], signer.x5c[0], signer.x5c[2]] }),
  ],
  [
    'untrusted_chain',
    () => signer.sign(CLAIMS, { x5c: [other.x5c[0], signer.x5c[1], signer.x5c[2]] }),
  ],
  ['wrong_signature', () => other.sign(CLAIMS, { x5c: signer.x5c })],
  ['wrong_signature', () => changed(GOOD, 1)],
  ['wrong_signature', () => changed(GOOD, 2)],
  ['wrong_signature', () => withSignature(GOOD, Buffer.alloc(64))],
  ['wrong_signature', () => withSignature(GOOD, Buffer.from(`3006020101020101`, 'hex'))],
  ['wrong_algorithm', () => signer.sign(CLAIMS, { alg: 'none' })],
  ['wrong_algorithm', () => signer.sign(CLAIMS, { alg: 'ES384' })],
  ['wrong_algorithm', () => signer.sign(CLAIMS, { alg: 'RS256' })],
  ['wrong_algorithm', () => signer.sign(CLAIMS, { crit: ['exp'] })],
  ['wrong_algorithm', () => signedByHmac(signer)],
  ['wrong_signed_date', () => signer.sign({ bundleId: 'com.example' })],
  ['wrong_signed_date', () => signer.sign({ ...CLAIMS, signedDate: '2026-07-01' })],
  ['wrong_signed_date', () => signer.sign({ ...CLAIMS, signedDate: Date.UTC(2023, 11, 31) })],
  ['wrong_signed_date', () => signer.sign({ ...CLAIMS, signedDate: Date.UTC(2034, 0, 2) })],
  ['malformed', () => `${GOOD}.x`],
  ['malformed', () => 'x'],
  ['malformed', () => ''],
  ['malformed', () => 7],
  ['malformed', () => null],
  ['malformed', () => `bm8.${GOOD.split('.').slice(1).join('.')}`],
])('refuses %s (%#)', (fault, token) => {
  expect(faultOf(verify, token())).toBe(fault)
})

test.each([
  ['a leaf without its marker', { leaf: { marker: null } }],
  ['a leaf with the marker of the intermediate', { leaf: { marker: '1.2.840.113635.100.6.2.1' } }],
  ['an intermediate without its marker', { intermediate: { marker: null } }],
  ['an intermediate that is not a CA', { intermediate: { isAuthority: false } }],
  ['a leaf that is a CA', { leaf: { isAuthority: true } }],
])('refuses %s', async (_what, options) => {
  const wrong = await createAppleSigner(options)
  expect(faultOf(createTokenVerifier(wrong.root), wrong.sign(CLAIMS))).toBe('wrong_certificate')
})

test('checks the validity of a certificate at the time of the signature', async () => {
  const old = await createAppleSigner({ leaf: { from: '2024-01-01', to: '2025-01-01' } })
  const verifyOld = createTokenVerifier(old.root)
  expect(verifyOld(old.sign({ signedDate: Date.UTC(2024, 6) }))).toEqual({
    signedDate: Date.UTC(2024, 6),
  })
  expect(faultOf(verifyOld, old.sign({ signedDate: Date.UTC(2025, 6) }))).toBe('wrong_signed_date')
  expect(verifyOld(old.sign({ receiptCreationDate: Date.UTC(2024, 6) }))).toBeObject()
})

test('Apple’s root does not verify a token signed under a test root', () => {
  expect(faultOf(createTokenVerifier(APPLE_ROOT), GOOD)).toBe('untrusted_chain')
})

function faultOf(verifyToken: typeof verify, token: unknown): string {
  try {
    verifyToken(token)
    return 'accepted'
  } catch (error) {
    if (error instanceof AppleTokenError) return error.fault
    throw error
  }
}

/** The token with one character of a part changed. */
function changed(token: string, part: number): string {
  const parts = token.split('.')
  const text = parts[part] ?? ''
  parts[part] = (text.startsWith('A') ? 'B' : 'A') + text.slice(1)
  return parts.join('.')
}

function withSignature(token: string, signature: Buffer): string {
  return [...token.split('.').slice(0, 2), signature.toString('base64url')].join('.')
}

/** Signed with the public certificate as if it were a shared secret. */
function signedByHmac({ x5c }: AppleSigner): string {
  const [header, payload] = signer.sign(CLAIMS, { alg: 'HS256' }).split('.')
  const { publicKey } = new X509Certificate(Buffer.from(x5c[0] ?? '', 'base64'))
  const secret = publicKey.export({ type: 'spki', format: 'pem' })
  const mac = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url')
  return `${header}.${payload}.${mac}`
}
