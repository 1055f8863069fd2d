import { type KeyObject, X509Certificate } from 'node:crypto'
import { sha256 } from '../../../lib/crypto/hash.ts'
import type { DenialReason } from '../../../lib/errors.ts'
import { createLruMap } from '../../../lib/lru-map.ts'

/** Apple Root CA - G3, valid until 2039-04-30. SHA-256: 63:34:3A:BF… https://www.apple.com/certificateauthority/ */
export const APPLE_ROOT = new X509Certificate(
  Buffer.from(
    'MIICQzCCAcmgAwIBAgIILcX8iNLFS5UwCgYIKoZIzj0EAwMwZzEbMBkGA1UEAwwSQXBwbGUgUm9vdCBDQSAtIEczMSYw' +
      'JAYDVQQLDB1BcHBsZSBDZXJ0aWZpY2F0aW9uIEF1dGhvcml0eTETMBEGA1UECgwKQXBwbGUgSW5jLjELMAkGA1UEBhMC' +
      'VVMwHhcNMTQwNDMwMTgxOTA2WhcNMzkwNDMwMTgxOTA2WjBnMRswGQYDVQQDDBJBcHBsZSBSb290IENBIC0gRzMxJjAk' +
      'BgNVBAsMHUFwcGxlIENlcnRpZmljYXRpb24gQXV0aG9yaXR5MRMwEQYDVQQKDApBcHBsZSBJbmMuMQswCQYDVQQGEwJV' +
      'UzB2MBAGByqGSM49AgEGBSuBBAAiA2IABJjpLz1AcqTtkyJygRMc3RCV8cWjTnHcFBbZDuWmBSp3ZHtfTjjTuxxEtX/1' +
      'H7YyYl3J6YRbTzBPEVoA/VhYDKX1DyxNB0cTddqXl5dvMVztK517IDvYuVTZXpmkOlEKMaNCMEAwHQYDVR0OBBYEFLuw' +
      '3qFYM4iapIqZ3r6966/ayySrMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgEGMAoGCCqGSM49BAMDA2gAMGUC' +
      'MQCD6cHEFl4aXTQY2e3v9GwOAEZLuN+yRhHFD/3meoyhpmvOwgPUnPWTxnS4at+qIxUCMG1mihDK1A3UT82NQz60imOl' +
      'M27jbdoXt2QfyFMm+YhidDkLF1vLUagM6BgD56KyKA==',
    'base64',
  ),
)

/** A key that Apple signs with, and when all certificates of its chain are valid, in ms. */
type SigningKey = { key: KeyObject; validFrom: number; validTo: number }
type VerifyChain = (x5c: unknown) => SigningKey

/** Apple marks certificates for the App Store with extensions: 1.2.840.113635.100.6.11.1 and .6.2.1 in DER. */
const LEAF_MARKER = '060a2a864886f76364060b01'
const INTERMEDIATE_MARKER = '060a2a864886f76364060201'
const MAX_CERTIFICATE_CHARACTERS = 8 * 1024
/** Apple uses one or two chains at a time. */
const MAX_CACHED_CHAINS = 16

/**
 * `x5c` headers are base64-encoded DER. The chain must lead to `root`, not just to its third certificate. Throws
 * `AppleTokenError`.
 */
export function createChainVerifier(root: X509Certificate): VerifyChain {
  const verified = createLruMap<string, SigningKey>(MAX_CACHED_CHAINS)
  return (x5c) => {
    if (!isChain(x5c)) throw new AppleTokenError('wrong_chain')
    const [leaf, intermediate] = x5c
    const cacheKey = sha256(`${leaf} ${intermediate}`, 'hex')
    const known = verified.get(cacheKey)
    if (known) return known
    const key = verifyChain(parse(leaf), parse(intermediate), root)
    verified.set(cacheKey, key)
    return key
  }
}

function isChain(x5c: unknown): x5c is [string, string, string] {
  const isShortText = (value: unknown) =>
    typeof value === 'string' && value.length <= MAX_CERTIFICATE_CHARACTERS
  return Array.isArray(x5c) && x5c.length === 3 && x5c.every(isShortText)
}

function parse(base64: string): X509Certificate {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64'))
  } catch {
    throw new AppleTokenError('wrong_chain')
  }
}

function verifyChain(
  leaf: X509Certificate,
  intermediate: X509Certificate,
  root: X509Certificate,
): SigningKey {
  if (!isIssuedBy(intermediate, root) || !isIssuedBy(leaf, intermediate)) {
    throw new AppleTokenError('untrusted_chain')
  }
  const isForAppStore =
    hasExtension(leaf, LEAF_MARKER) && hasExtension(intermediate, INTERMEDIATE_MARKER)
  const { publicKey: key } = leaf
  const isP256 = key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  if (!root.ca || !intermediate.ca || leaf.ca || !isForAppStore || !isP256) {
    throw new AppleTokenError('wrong_certificate')
  }
  const all = [leaf, intermediate, root]
  return {
    key,
    validFrom: Math.max(...all.map(({ validFrom }) => Date.parse(validFrom))),
    validTo: Math.min(...all.map(({ validTo }) => Date.parse(validTo))),
  }
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

const EXTENSIONS_TAG = 0xa3

/** Whether a certificate has the extension whose DER-encoded object identifier is `oid`. */
function hasExtension({ raw }: X509Certificate, oid: string): boolean {
  const [certificate] = readDer(raw)
  const [tbsCertificate] = readDer(certificate?.content)
  const tagged = readDer(tbsCertificate?.content).find(({ tag }) => tag === EXTENSIONS_TAG)
  const [list] = readDer(tagged?.content)
  return readDer(list?.content).some(({ content }) => content.toString('hex').startsWith(oid))
}

type DerValue = { tag: number; content: Buffer }

/** The consecutive values in DER. No length in a certificate takes more than four bytes. */
function readDer(bytes: Buffer = Buffer.alloc(0)): DerValue[] {
  const values: DerValue[] = []
  for (let at = 0; at + 2 <= bytes.length; ) {
    const [tag = 0, short = 0] = bytes.subarray(at, at + 2)
    const extra = short < 0x80 ? 0 : short & 0x7f
    if (extra > 4 || at + 2 + extra > bytes.length) return values
    const length = extra === 0 ? short : bytes.readUIntBE(at + 2, extra)
    const start = at + 2 + extra
    values.push({ tag, content: bytes.subarray(start, start + length) })
    at = start + length
  }
  return values
}

/** Only the fault `other_app` means that Apple has signed the token. */
type AppleTokenProblem = DenialReason | 'other_app'

/** Why a token that claims to come from Apple is refused. */
export class AppleTokenError extends Error {
  readonly fault: AppleTokenProblem

  constructor(fault: AppleTokenProblem) {
    super(`the token is refused: ${fault}`)
    this.name = 'AppleTokenError'
    this.fault = fault
  }
}
