import { equalInConstantTime, hmac } from '../../../lib/crypto/hash.ts'
import { MINUTE_MS } from '../../../lib/time/durations.ts'

const LIFETIME_MS = 15 * MINUTE_MS

export type UrlSigner = ReturnType<typeof createUrlSigner>

/** Signs file URLs with HMAC-SHA256, for 15 minutes. */
export function createUrlSigner(key: Uint8Array, now: () => Date) {
  return { sign, verify }

  function sign(fileKey: string): { query: string; expiresAt: Date } {
    const expiresAt = new Date(now().getTime() + LIFETIME_MS)
    const expires = String(expiresAt.getTime())
    const signature = hmac(key, `${fileKey}.${expires}`)
    return { query: new URLSearchParams({ expires, signature }).toString(), expiresAt }
  }

  function verify(fileKey: string, expires: string | undefined, signature: string | undefined) {
    const isGenuine = equalInConstantTime(signature ?? '', hmac(key, `${fileKey}.${expires}`))
    return isGenuine && Number(expires) > now().getTime()
  }
}
