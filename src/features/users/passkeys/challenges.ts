import { randomBytes } from 'node:crypto'
import { equalInConstantTime, hmac } from '../../../lib/crypto/hash.ts'
import { HOUR_MS } from '../../../lib/time/durations.ts'

type ChallengesDeps = { key: Uint8Array; now: () => Date }

/** A form with passkey autofill requests a challenge when it opens; the user may answer much later. */
const LIFETIME_MS = HOUR_MS
const TIME_BYTES = 6
const NONCE_BYTES = 16
const CONTENT_BYTES = TIME_BYTES + NONCE_BYTES

/** Time, nonce and signature, base64url. Anyone may request one, so they are signed and not stored. */
export function createChallenges({ key, now }: ChallengesDeps) {
  return { issue, readExpiry }

  function issue(): string {
    const content = Buffer.concat([Buffer.alloc(TIME_BYTES), randomBytes(NONCE_BYTES)])
    content.writeUIntBE(now().getTime() + LIFETIME_MS, 0, TIME_BYTES)
    return Buffer.concat([content, Buffer.from(sign(content), 'base64url')]).toString('base64url')
  }

  /** Null if it is forged or has expired. */
  function readExpiry(challenge: string): Date | null {
    const bytes = Buffer.from(challenge, 'base64url')
    const content = bytes.subarray(0, CONTENT_BYTES)
    const signature = bytes.subarray(CONTENT_BYTES).toString('base64url')
    // Another spelling of the same bytes would count as another challenge, and be accepted a second time.
    if (content.length < CONTENT_BYTES || bytes.toString('base64url') !== challenge) return null
    if (!equalInConstantTime(signature, sign(content))) return null
    const expiresAt = new Date(content.readUIntBE(0, TIME_BYTES))
    return expiresAt > now() ? expiresAt : null
  }

  function sign(content: Uint8Array): string {
    return hmac(key, `passkey-sign-in.${Buffer.from(content).toString('base64url')}`)
  }
}
