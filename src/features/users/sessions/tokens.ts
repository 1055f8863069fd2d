import { randomBytes } from 'node:crypto'
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose'
import { signJwt } from '../../../lib/crypto/es256.ts'
import { hmac, sha256 } from '../../../lib/crypto/hash.ts'
import type { KeyRing } from '../../../lib/crypto/key-ring.ts'
import { AppError, type Denial, type DenialReason } from '../../../lib/errors.ts'
import { createLruMap } from '../../../lib/lru-map.ts'

export const ACCESS_TOKEN_TTL_SECONDS = 15 * 60
const TOKEN_TYPE = 'at+jwt'
/** About 1 KB each. */
const MAX_CACHED_TOKENS = 5_000

export type AccessClaims = {
  userId: string
  sessionId: string
  /** The number of the refresh token that it was minted with. */
  generation: number
  /** The session was opened with a sealed request: plain requests are refused. */
  sealed: boolean
}

/** A token with a valid signature; `expiresAt` in seconds since 1970. */
type Verified = { claims: AccessClaims; kid: string; expiresAt: number }

type TokensDeps = {
  keys: Pick<KeyRing, 'current' | 'findPublic' | 'isAccepted'>
  refreshKey: Uint8Array
  issuer: string
  audience: string
  now: () => Date
}

export type Tokens = ReturnType<typeof createTokens>

/** Access tokens (JWT, RFC 9068, ES256) and opaque refresh tokens of 256 bits. */
export function createTokens({ keys, refreshKey, issuer, audience, now }: TokensDeps) {
  // Tokens that have expired would only take space.
  const verified = createLruMap<string, Verified>(
    MAX_CACHED_TOKENS,
    ACCESS_TOKEN_TTL_SECONDS * 1000,
  )
  return { mintAccess, verifyAccess, findOwner, toPublicClaims, mintRefresh, deriveSuccessor }

  /** Mints an access token, and caches it so that its signature is not verified later. */
  function mintAccess(claims: AccessClaims): string {
    const { userId, sessionId, generation, sealed } = claims
    const { jwk } = keys.current()
    const issuedAt = Math.floor(now().getTime() / 1000)
    const expiresAt = issuedAt + ACCESS_TOKEN_TTL_SECONDS
    const payload = {
      sid: sessionId,
      ...(sealed ? { enc: 1 } : {}),
      iss: issuer,
      aud: audience,
      sub: userId,
      iat: issuedAt,
      exp: expiresAt,
      jti: `${generation}.${crypto.randomUUID()}`,
    }
    const token = signJwt({ typ: TOKEN_TYPE, kid: jwk.kid }, payload, jwk)
    verified.set(token, {
      claims: { userId, sessionId, generation, sealed },
      kid: jwk.kid,
      expiresAt,
    })
    return token
  }

  /**
   * Throws `token_expired` or `unauthenticated`. Verifies the signature once per token, because that costs more than
   * the rest of a request, but checks the expiry and the key each time.
   */
  async function verifyAccess(token: string): Promise<AccessClaims> {
    const known = verified.get(token) ?? (await verify(token))
    const { userId, sessionId } = known.claims
    if (known.expiresAt <= Math.floor(now().getTime() / 1000)) {
      throw tokenExpired({ reason: 'expired', userId, sessionId })
    }
    if (!keys.isAccepted(known.kid)) throw notSignedIn({ reason: 'unknown_key' })
    return known.claims
  }

  /** The user and session that a token was minted for, even once it has expired; null if the token is not ours. */
  async function findOwner(
    token: string,
  ): Promise<Pick<AccessClaims, 'userId' | 'sessionId'> | null> {
    try {
      return await verifyAccess(token)
    } catch (error) {
      const { reason, userId, sessionId } = (error instanceof AppError && error.denial) || {}
      return reason === 'expired' && userId && sessionId ? { userId, sessionId } : null
    }
  }

  async function verify(token: string): Promise<Verified> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, findPublicKey, {
        algorithms: ['ES256'],
        typ: TOKEN_TYPE,
        issuer,
        audience,
        currentDate: now(),
        requiredClaims: ['sub', 'sid', 'iat', 'exp', 'jti'],
      })
      const { sub, sid, jti, enc, exp = 0 } = payload
      const generation = Number.parseInt(String(jti), 10)
      if (typeof sid !== 'string' || !sub || !(generation >= 0)) {
        throw notSignedIn({ reason: 'malformed' })
      }
      const claims = { userId: sub, sessionId: sid, generation, sealed: enc === 1 }
      const found = { claims, kid: protectedHeader.kid ?? '', expiresAt: exp }
      verified.set(token, found)
      return found
    } catch (error) {
      // A server error says nothing about the token.
      if (!(error instanceof errors.JOSEError)) throw error
      throw error instanceof errors.JWTExpired
        ? tokenExpired({ reason: 'expired', ...toSubject(error.payload) })
        : notSignedIn({ reason: toDenialReason(error) })
    }
  }

  async function findPublicKey({ kid }: { kid?: string }) {
    const key = kid === undefined ? null : await keys.findPublic(kid)
    if (key === null) throw notSignedIn({ reason: 'unknown_key' })
    return key
  }

  /** The public claims of a verified token; times in seconds since 1970. */
  function toPublicClaims(token: string) {
    const { iat, exp } = decodeJwt(token) as { iat: number; exp: number }
    return { iss: issuer, aud: audience, iat, exp }
  }

  function mintRefresh(): string {
    return randomBytes(32).toString('base64url')
  }

  /** The successor of a token: derived, so that it can be returned again without being stored. */
  function deriveSuccessor(token: string): string {
    return hmac(refreshKey, token)
  }
}

function toSubject({ sub, sid }: JWTPayload): Pick<Denial, 'userId' | 'sessionId'> {
  return typeof sid === 'string' && sub ? { userId: sub, sessionId: sid } : {}
}

function toDenialReason(error: unknown): DenialReason {
  if (error instanceof errors.JWTClaimValidationFailed) {
    return ['iss', 'aud'].includes(error.claim) ? 'wrong_issuer' : 'malformed'
  }
  const isForged =
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSEAlgNotAllowed
  return isForged ? 'forged' : 'malformed'
}

function tokenExpired(denial: Denial): AppError {
  return new AppError('token_expired', 'The access token has expired: refresh it.', { denial })
}

export function hashToken(token: string): string {
  return sha256(token)
}

export function notSignedIn(denial: Denial): AppError {
  return new AppError('unauthenticated', 'The token is invalid or has expired: sign in again.', {
    denial,
  })
}
