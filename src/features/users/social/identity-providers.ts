import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose'
import { sha256 } from '../../../lib/crypto.ts'
import { AppError } from '../../../lib/errors.ts'
import { readTextCapped } from '../../../lib/read-text-capped.ts'

export type ProviderName = 'google' | 'apple'

/** Where a provider publishes its keys and what its tokens say. */
type ProviderSettings = { issuers: string[]; jwksUrl: string; clientIds: string[] }

/** Who a provider says somebody is. */
export type ProvenIdentity = {
  provider: ProviderName
  subject: string
  email: string | null
  emailVerified: boolean
  /** Whether the provider also knows who has the address today: else it may have changed hands since. */
  ownsAddress: boolean
  name: string
  /** The client id that the token was made for. */
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
/** An unknown key asks the provider again, but not more often than this, in ms. */
const COOLDOWN_MS = 30_000
const KEYS_LIFETIME_MS = 10 * 60_000
const TIMEOUT_MS = 5_000
const CLOCK_TOLERANCE_SECONDS = 60
const MAX_KEYS_BYTES = 256 * 1024

/** Checks native id tokens against the provider's published keys. */
export function createIdTokenVerifier(
  providers: IdentityProviders,
  now: () => Date,
): VerifyIdToken {
  const keySets = {
    google: remoteKeys(providers.google.jwksUrl),
    apple: remoteKeys(providers.apple.jwksUrl),
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
      throw isUnreachable(error) ? unreachable(error) : refused()
    }
  }
}

/** Whether a provider knows who has `email` today, whatever else its token says. */
export function alwaysOwns(provider: string, email: string | null): boolean {
  return provider === 'apple' || /@gmail\.com$/i.test(email ?? '')
}

/** Both providers write one text; another type may be read otherwise elsewhere. */
function isText(claim: unknown): claim is string {
  return typeof claim === 'string' && claim !== ''
}

function remoteKeys(url: string) {
  return createRemoteJWKSet(new URL(url), {
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: KEYS_LIFETIME_MS,
    timeoutDuration: TIMEOUT_MS,
    headers: { 'accept-encoding': 'identity' },
    [customFetch]: fetchKeys,
  })
}

/** Takes no more of the reply than keys need. */
async function fetchKeys(url: string, options: RequestInit): Promise<Response> {
  const reply = await fetch(url, { ...options, decompress: false })
  const body = await readTextCapped(reply, MAX_KEYS_BYTES)
  if (body === null)
    throw new Error('the keys of the identity provider are too long, or compressed')
  return new Response(body, { status: reply.status })
}

/** What the app chose must be in the token, and what is in the token must have been chosen by the app. */
function nonceMatches(
  provider: ProviderName,
  claimed: unknown,
  given: string | undefined,
): boolean {
  if (claimed === undefined && given === undefined) return true
  if (typeof claimed !== 'string' || given === undefined) return false
  return claimed === given || (provider === 'apple' && claimed === sha256(given, 'hex'))
}

/** What jose throws of a token is the caller's fault; all else is the way to the provider. */
function isUnreachable(error: unknown): boolean {
  if (error instanceof AppError) return false
  if (error instanceof errors.JWKSTimeout) return true
  return !(error instanceof errors.JOSEError) || error.code === 'ERR_JOSE_GENERIC'
}

function refused(): AppError {
  return new AppError(
    'unauthenticated',
    'The id token is not valid here: sign in with the provider again.',
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
