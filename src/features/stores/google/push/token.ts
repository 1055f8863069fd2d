import { errors, jwtVerify } from 'jose'
import { isUnreachable, remoteKeys } from '../../../../lib/crypto/remote-keys.ts'
import { AppError } from '../../../../lib/errors.ts'
import { DAY_MS } from '../../../../lib/time/durations.ts'

type PushTokenSettings = {
  jwksUrl: string
  /** The service account whose tokens are accepted: anyone can get a token for any audience. */
  account: string
  audience: string
  now: () => Date
}

export const GOOGLE_JWKS_URL = 'https://www.googleapis.com/oauth2/v3/certs'
const ISSUERS = ['https://accounts.google.com', 'accounts.google.com']
const CLOCK_TOLERANCE_SECONDS = 60

/**
 * Throws 401, or 503 while Google's keys cannot be fetched.
 * https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions
 */
export function createPushTokenCheck({ jwksUrl, account, audience, now }: PushTokenSettings) {
  const keys = remoteKeys(jwksUrl, DAY_MS)
  /** Why the last push was refused; null after an accepted one. */
  let refusal: string | null = null
  return { check, lastRefusal: () => refusal }

  async function check(token: string | undefined) {
    refusal = 'the Pub/Sub subscription sends no token. Enable authentication in it.'
    if (token === undefined) throw notFromPubSub('missing')
    const { email, email_verified: isVerified } = await verify(token)
    refusal = 'an account other than PLAY_PUSH_ACCOUNT signs them.'
    if (email !== account || isVerified !== true) throw notFromPubSub('unknown_account')
    refusal = null
  }

  async function verify(token: string) {
    try {
      const { payload } = await jwtVerify(token, keys, {
        algorithms: ['RS256'],
        issuer: ISSUERS,
        audience,
        currentDate: now(),
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['exp', 'iat'],
      })
      return payload
    } catch (error) {
      if (!isUnreachable(error)) {
        const isOtherAudience =
          error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud'
        refusal = isOtherAudience
          ? 'their audience is not the one above.'
          : 'Google has not signed their tokens, or the clock of this server is wrong.'
        throw notFromPubSub('wrong_id_token')
      }
      refusal = "Google's keys cannot be fetched."
      throw new AppError('unavailable', "Google's keys cannot be fetched.", {
        retryAfterSeconds: 60,
        cause: error,
      })
    }
  }
}

function notFromPubSub(reason: 'missing' | 'wrong_id_token' | 'unknown_account') {
  return new AppError('unauthenticated', 'The push is not from the expected service account.', {
    denial: { reason },
  })
}
