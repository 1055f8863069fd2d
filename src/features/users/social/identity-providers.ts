import { jwtVerify } from 'jose'
import { sha256 } from '../../../lib/crypto.ts'
import { AppError } from '../../../lib/errors.ts'
import { isUnreachable, remoteKeys } from '../../../lib/remote-keys.ts'

export type ProviderName = 'google' | 'apple'

/** Where a provider publishes its keys, and the claims that its tokens must have. */
type ProviderSettings = { issuers: string[]; jwksUrl: string; clientIds: string[] }

/** The identity in a provider's token. */
export type ProvenIdentity = {
  provider: ProviderName
  subject: string
  email: string | null
  emailVerified: boolean
  /** Whether the provider owns the address. If not, it may have changed hands since it was verified. */
  ownsAddress: boolean
  name: string
  /** The client id that the token was issued to. */
  clientId: string
}

export type VerifyIdToken = (
  provider: ProviderName,
  idToken: string,
  nonce: string | undefined,
) => Promise<ProvenIdentity>

export type IdentityProviders = Record<ProviderName, ProviderSettings>

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
const KEYS_LIFETIME_MS = 10 * 60_000
const CLOCK_TOLERANCE_SECONDS = 60

/** Verifies native id tokens against the provider's published keys. */
export function createIdTokenVerifier(
  providers: IdentityProviders,
  now: () => Date,
): VerifyIdToken {
  const keySets = {
    google: remoteKeys(providers.google.jwksUrl, KEYS_LIFETIME_MS),
    apple: remoteKeys(providers.apple.jwksUrl, KEYS_LIFETIME_MS),
  }
  return async (provider, idToken, nonce) => {
    const { issuers, clientIds } = providers[provider]
    if (clientIds.length === 0) throw notSetUp(provider)
    try {
      const { payload } = await jwtVerify(idToken, keySets[provider], {
        algorithms: ALGORITHMS,
        issuer: issuers,
        audience: clientIds,
        currentDate: now(),
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['sub', 'exp', 'iat'],
      })
      const { sub, aud, email_verified: verified, hd, nonce: claimed } = payload
      if (!isText(sub) || !isText(aud) || !nonceMatches(provider, claimed, nonce)) throw refused()
      const email = isText(payload['email']) ? payload['email'] : null
      return {
        provider,
        subject: sub,
        email,
        // Apple may send it as the string 'true'.
        emailVerified: verified === true || verified === 'true',
        ownsAddress: isText(hd) || alwaysOwns(provider, email),
        name: typeof payload['name'] === 'string' ? payload['name'].slice(0, 100) : '',
        clientId: aud,
      }
    } catch (error) {
      throw !(error instanceof AppError) && isUnreachable(error) ? unreachable(error) : refused()
    }
  }
}

/** Whether a provider owns `email`, whatever its token claims. */
export function alwaysOwns(provider: string, email: string | null): boolean {
  return provider === 'apple' || /@gmail\.com$/i.test(email ?? '')
}

/** Both providers send strings; parsers may disagree about other types. */
function isText(claim: unknown): claim is string {
  return typeof claim === 'string' && claim !== ''
}

/** The nonces of the app and the token must match, or both be absent. */
function nonceMatches(
  provider: ProviderName,
  claimed: unknown,
  appNonce: string | undefined,
): boolean {
  if (claimed === undefined && appNonce === undefined) return true
  if (typeof claimed !== 'string' || appNonce === undefined) return false
  return claimed === appNonce || (provider === 'apple' && claimed === sha256(appNonce, 'hex'))
}

function refused(): AppError {
  return new AppError(
    'unauthenticated',
    'The id token was not accepted: sign in with the provider again.',
    { denial: { reason: 'wrong_id_token' } },
  )
}

function unreachable(cause: unknown): AppError {
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
  return new AppError(
    'validation_failed',
    `Sign-in with ${provider} is not set up on this server.`,
    {
      details: [{ path: 'provider', message: 'is not set up' }],
    },
  )
}
