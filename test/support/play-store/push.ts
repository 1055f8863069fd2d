import { type RsaKey, rsaKey, signToken } from './rsa-keys.ts'

export const PUSH_ACCOUNT = 'pubsub-push@example-project.iam.gserviceaccount.com'
export const PUSH_AUDIENCE = 'https://push.example.com/api/webhooks/play/v1'
const SUBSCRIPTION = 'projects/example-project/subscriptions/play-notifications'
/** A key that is never published. */
const FOREIGN_KEY = 9

export type PushOverrides = {
  /** Claims that replace the usual ones; undefined removes one. */
  claims?: Record<string, unknown>
  kid?: string
  alg?: 'RS256' | 'HS256' | 'none'
  isExpired?: boolean
  /** Signs with a key that Google does not publish, under the published key's id. */
  hasForeignKey?: boolean
  /** "Payload unwrapping": the body is the notification itself. */
  isUnwrapped?: boolean
  subscription?: string
  messageId?: string
  /** Replaces `message.data` unchanged. */
  data?: string
  /** The message has attributes only. */
  hasNoData?: boolean
}

/** Pub/Sub's push requests, signed with the newest of Google's keys. */
export function createPushSigner(now: () => Date) {
  let current = 2
  let count = 136_969_346_945
  return { certs, rotateKeys, pushOf }

  /** The published keys: the current one and the one before it. */
  function certs() {
    const keys = [current, current - 1].map((number) => ({
      ...rsaKey(number).publicKey.export({ format: 'jwk' }),
      kid: kidOf(number),
      alg: 'RS256',
      use: 'sig',
    }))
    return Response.json(
      { keys },
      { headers: { 'cache-control': 'public, max-age=19800, must-revalidate, no-transform' } },
    )
  }

  function rotateKeys() {
    current++
    if (current === FOREIGN_KEY) throw new Error('too many rotations')
  }

  /** Pub/Sub's request about a notification: the bearer token and the body. */
  function pushOf(notification: object, overrides: PushOverrides = {}) {
    const { kid = kidOf(current), alg = 'RS256', hasForeignKey = false } = overrides
    const key: RsaKey = rsaKey(hasForeignKey ? FOREIGN_KEY : current)
    return {
      token: signToken(claimsOf(overrides), { alg, kid }, key),
      json: overrides.isUnwrapped ? notification : envelopeOf(notification, overrides),
    }
  }

  function claimsOf({ claims = {}, isExpired = false }: PushOverrides) {
    const issuedAt = Math.floor(now().getTime() / 1000) - (isExpired ? 7200 : 0)
    return {
      aud: PUSH_AUDIENCE,
      azp: '113774264463038321964',
      email: PUSH_ACCOUNT,
      email_verified: true,
      exp: issuedAt + 3600,
      iat: issuedAt,
      iss: 'https://accounts.google.com',
      sub: '113774264463038321964',
      ...claims,
    }
  }

  /** Pub/Sub sends two of the fields in both spellings. */
  function envelopeOf(notification: object, overrides: PushOverrides) {
    const { subscription = SUBSCRIPTION, messageId = String(++count) } = overrides
    const { data = Buffer.from(JSON.stringify(notification)).toString('base64') } = overrides
    const publishTime = now().toISOString()
    return {
      message: {
        attributes: {},
        ...(overrides.hasNoData ? {} : { data }),
        messageId,
        message_id: messageId,
        publishTime,
        publish_time: publishTime,
      },
      subscription,
    }
  }
}

function kidOf(number: number) {
  return `google-key-${number}`
}
