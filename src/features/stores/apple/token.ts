import { verify, type X509Certificate } from 'node:crypto'
import { isObject, parseJson } from '../../../lib/text/json.ts'
import { AppleTokenError, createChainVerifier } from './certificates.ts'

export type Claims = Record<string, unknown>
/** Throws `AppleTokenError`. */
export type VerifyToken = (token: unknown) => Claims

const SIGNATURE_BYTES = 64
/** How far the signing time may be outside the validity of the certificates, in ms. */
const TOLERANCE_MS = 60_000

/**
 * Verifies a compact JWS with its certificates in `x5c`, which must be valid at the time of the signature, not now: old
 * notifications are delivered again. https://developer.apple.com/documentation/appstoreserverapi/jwsdecodedheader
 */
export function createTokenVerifier(root: X509Certificate): VerifyToken {
  const verifyChain = createChainVerifier(root)
  return (token) => {
    const parts = typeof token === 'string' ? token.split('.') : []
    if (parts.length !== 3) throw new AppleTokenError('malformed')
    const [header = '', payload = '', signature = ''] = parts
    const { alg, crit, x5c } = readJson(header)
    if (alg !== 'ES256' || crit !== undefined) throw new AppleTokenError('wrong_algorithm')
    const { key, validFrom, validTo } = verifyChain(x5c)
    const signed = Buffer.from(`${header}.${payload}`)
    const bytes = Buffer.from(signature, 'base64url')
    const isSigned =
      bytes.length === SIGNATURE_BYTES &&
      verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, bytes)
    if (!isSigned) throw new AppleTokenError('wrong_signature')
    const claims = readJson(payload)
    const signedAt = claims['signedDate'] ?? claims['receiptCreationDate']
    const isWithinValidity =
      typeof signedAt === 'number' &&
      signedAt >= validFrom - TOLERANCE_MS &&
      signedAt <= validTo + TOLERANCE_MS
    if (!isWithinValidity) throw new AppleTokenError('wrong_signed_date')
    return claims
  }
}

function readJson(base64url: string): Claims {
  const value = parseJson(Buffer.from(base64url, 'base64url').toString())
  if (!isObject(value)) throw new AppleTokenError('malformed')
  return value
}
