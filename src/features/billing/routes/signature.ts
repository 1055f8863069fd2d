import { createHmac, timingSafeEqual } from 'node:crypto'

const TOLERANCE_SECONDS = 5 * 60

/**
 * The header is `t=<seconds>,v1=<hex>`, possibly with several `v1`. Each is an HMAC-SHA256 of `<t>.<body>`; `t` may be
 * off by at most five minutes.
 */
export function hasValidSignature(
  header: string | null,
  body: Uint8Array,
  secret: string,
  now: Date,
): boolean {
  const parts = (header ?? '').split(',').map((part) => part.trim().split('='))
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  if (!/^\d{1,12}$/.test(time)) return false
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  // Compares all of them, so that the response time reveals nothing.
  const matching = parts.filter(([name, value]) => name === 'v1' && equals(value, expected))
  return matching.length > 0 && Math.abs(now.getTime() / 1000 - Number(time)) <= TOLERANCE_SECONDS
}

function equals(hex: string | undefined, expected: Buffer): boolean {
  if (!/^[0-9a-f]{64}$/i.test(hex ?? '')) return false
  return timingSafeEqual(Buffer.from(hex ?? '', 'hex'), expected)
}
