import { type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { sha256 } from '../../../lib/crypto/hash.ts'
import { isUnreachable, remoteKeys } from '../../../lib/crypto/remote-keys.ts'
import { AppError, invalidField } from '../../../lib/errors.ts'
import { isNormalAddress, parseMailbox } from '../../../lib/text/email-address.ts'
import { isStorableText } from '../../../lib/validation.ts'
import { createOpenIdKeys, KEYS_LIFETIME_MS, OPENID_ALGORITHMS } from './openid-keys.ts'

export type ProviderName = 'google' | 'apple' | 'oidc'

/** Where a provider publishes its keys, and the claims that its tokens must have. */
type ProviderSettings = { issuers: string[]; jwksUrl: string; clientIds: string[] }

export type ProvenIdentity = {
  provider: ProviderName
  subject: string
  email: string | null
  emailVerified: boolean
  /** Whether the provider owns the address. If not, the address may have changed hands since it was verified. */
  ownsAddress: boolean
  name: string
  clientId: string
}

export type VerifyIdToken = (
  provider: ProviderName,
  idToken: string,
  nonce: string | undefined,
) => Promise<ProvenIdentity>

export type IdentityProviders = Record<'google' | 'apple', ProviderSettings>

/** The OpenID Connect provider; `issuer` is null when none is set up. */
type OpenIdSettings = { issuer: string | null; clientIds: string[] }

/** Whether a provider owns `email`, whatever its token claims. */
export type OwnsAddress = (provider: string, email: string | null) => boolean

/** Whether an identity can sign in: its provider is set up, and is still the same issuer. */
export type AcceptsIdentity = (identity: { provider: string; subject: string }) => boolean

type VerifierDeps = {
  providers: IdentityProviders
  openId: OpenIdSettings
  ownsAddress: OwnsAddress
  /** Whether the app must send the nonce of every id token. */
  isNonceRequired: boolean
  now: () => Date
}

type TokenRules = {
  issuers: string[]
  clientIds: string[]
  algorithms: string[]
  keys: JWTVerifyGetKey
}

/** Google: https://developers.google.com/identity/gsi/web/guides/verify-google-id-token. Apple: https://developer.apple.com/documentation/signinwithapple/verifying-a-user. */
export function knownProviders(google: string[], apple: string[]): IdentityProviders {
  return {
    google: {
      issuers: ['https://accounts.google.com', 'accounts.google.com'],
      jwksUrl: 'https://www.googleapis.com/oauth2/v3/certs',
      clientIds: google,
    },
    apple: {
      issuers: ['https://appleid.apple.com'],
      jwksUrl: 'https://appleid.apple.com/auth/keys',
      clientIds: apple,
    },
  }
}

const ALGORITHMS = ['RS256', 'ES256']
const CLOCK_TOLERANCE_SECONDS = 60
/** As OpenID Connect Core allows. */
const MAX_SUBJECT_LENGTH = 255

/** Verifies native id tokens against the provider's published keys. */
export function createIdTokenVerifier(deps: VerifierDeps): VerifyIdToken {
  const { providers, openId, ownsAddress, isNonceRequired, now } = deps
  const { issuer } = openId
  const rules: Record<ProviderName, TokenRules | null> = {
    google: toTokenRules(providers.google),
    apple: toTokenRules(providers.apple),
    oidc: issuer === null ? null : openIdRules(issuer, openId.clientIds, now),
  }
  return async (provider, idToken, nonce) => {
    const rule = rules[provider]
    if (rule === null || rule.clientIds.length === 0) throw notSetUp(provider)
    const { issuers, clientIds, algorithms, keys } = rule
    try {
      const { payload } = await jwtVerify(idToken, keys, {
        algorithms,
        issuer: issuers,
        audience: clientIds,
        currentDate: now(),
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['sub', 'exp', 'iat'],
      })
      const { sub, email_verified: verified, hd } = payload
      const clientId = provider === 'oidc' ? findOpenIdClient(payload, clientIds) : payload.aud
      if (
        !isText(sub) ||
        sub.length > MAX_SUBJECT_LENGTH ||
        !isText(clientId) ||
        !acceptsNonce(provider, payload, nonce, isNonceRequired)
      )
        throw idTokenRefused()
      const email = isText(payload['email']) ? payload['email'] : null
      return {
        provider,
        subject: issuer !== null && provider === 'oidc' ? openIdSubject(issuer, sub) : sub,
        email,
        // Apple may send it as the string 'true'.
        emailVerified: (verified === true || verified === 'true') && isNormalAddress(email ?? ''),
        ownsAddress: (provider === 'google' && isText(hd)) || ownsAddress(provider, email),
        name: isText(payload['name']) ? payload['name'] : '',
        clientId,
      }
    } catch (error) {
      throw !(error instanceof AppError) && isUnreachable(error)
        ? unreachable(error)
        : idTokenRefused()
    }
  }
}

/** The OpenID Connect provider owns the addresses at `openIdDomains`. */
export function createOwnsAddress(openIdDomains: string[]): OwnsAddress {
  const ownDomains: Record<string, string[]> = { google: ['gmail.com'], oidc: openIdDomains }
  return (provider, email) => {
    if (email !== null && !isNormalAddress(email)) return false
    const [, domain] = parseMailbox(email ?? '')?.split('@') ?? []
    return provider === 'apple' || (ownDomains[provider] ?? []).includes(domain ?? '')
  }
}

export function createAcceptsIdentity(
  providers: IdentityProviders,
  { issuer, clientIds }: OpenIdSettings,
): AcceptsIdentity {
  return ({ provider, subject }) =>
    provider === 'oidc'
      ? issuer !== null && clientIds.length > 0 && subject.startsWith(openIdSubject(issuer, ''))
      : (providers[provider as 'google' | 'apple']?.clientIds.length ?? 0) > 0
}

/** Includes the issuer, because another provider may give the same id to another user. */
export function openIdSubject(issuer: string, subject: string): string {
  return `${issuer} ${subject}`
}

export function toTokenRules({ issuers, jwksUrl, clientIds }: ProviderSettings): TokenRules {
  const keys = remoteKeys(jwksUrl, KEYS_LIFETIME_MS)
  return { issuers, clientIds, algorithms: ALGORITHMS, keys }
}

function openIdRules(issuer: string, clientIds: string[], now: () => Date): TokenRules {
  const keys = createOpenIdKeys(issuer, now)
  return { issuers: [issuer], clientIds, algorithms: OPENID_ALGORITHMS, keys }
}

/**
 * Null if the token is also for clients that are not ours.
 * https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation
 */
function findOpenIdClient({ aud, azp }: JWTPayload, clientIds: string[]): string | null {
  const audiences = [aud].flat()
  const client = azp ?? (audiences.length === 1 ? audiences[0] : undefined)
  const areOurs = [...audiences, client].every(
    (party) => isText(party) && clientIds.includes(party),
  )
  return areOurs && isText(client) ? client : null
}

/** Providers send strings; parsers may disagree about other types. */
export function isText(claim: unknown): claim is string {
  return typeof claim === 'string' && claim !== '' && isStorableText(claim)
}

/**
 * The nonces must match or both be absent. But Google's SDK for iOS adds one that the app never sees, and some Apple
 * devices support none.
 */
function acceptsNonce(
  provider: ProviderName,
  { nonce: claimed, nonce_supported: isSupported }: JWTPayload,
  appNonce: string | undefined,
  isRequired: boolean,
): boolean {
  if (appNonce === undefined) return !isRequired && (claimed === undefined || provider === 'google')
  if (claimed === undefined)
    return provider === 'apple' && (isSupported === false || isSupported === 'false')
  const isHashed = provider !== 'oidc' && claimed === sha256(appNonce, 'hex')
  return claimed === appNonce || isHashed
}

function idTokenRefused(): AppError {
  return new AppError(
    'unauthenticated',
    'The id token was not accepted: sign in with the provider again.',
    { denial: { reason: 'wrong_id_token' } },
  )
}

export function unreachable(cause: unknown): AppError {
  return new AppError(
    'unavailable',
    'The identity provider is unavailable. Try again in a moment.',
    {
      retryAfterSeconds: 10,
      cause,
    },
  )
}

function notSetUp(provider: ProviderName): AppError {
  const sentence = `Sign-in with ${provider} is not set up on this server.`
  return invalidField('provider', 'is not set up', sentence)
}
