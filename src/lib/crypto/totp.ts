import { Secret, TOTP } from 'otpauth'

const PERIOD_MS = 30_000

/** A new secret of 160 bits, in base 32 for authenticator apps. */
export function newTotpSecret(): string {
  return new Secret({ size: 20 }).base32
}

/** The content of the QR code for authenticator apps: TOTP (RFC 6238) with SHA-1, 6 digits and 30 s. */
export function formatOtpauthUrl(secret: string, issuer: string, label: string): string {
  // A colon separates the issuer from the label.
  const [issuerText = '', labelText = ''] = [issuer, label].map((one) => one.replaceAll(':', ''))
  return createTotp(secret, issuerText.trim(), labelText).toString()
}

/** The current, previous or next time step of a valid code; null if it is invalid or not later than `lastStep`. */
export function acceptedStep(
  secret: string,
  code: string,
  now: Date,
  lastStep: number | null,
): number | null {
  const timestamp = now.getTime()
  const delta = createTotp(secret).validate({ token: code, timestamp, window: 1 })
  if (delta === null) return null
  const step = Math.floor(timestamp / PERIOD_MS) + delta
  return lastStep === null || step > lastStep ? step : null
}

export function isCodeOfStep(secret: string, code: string, step: number): boolean {
  return createTotp(secret).validate({ token: code, timestamp: step * PERIOD_MS, window: 0 }) === 0
}

function createTotp(secret: string, issuer = '', label = ''): TOTP {
  return new TOTP({
    issuer,
    label,
    secret: Secret.fromBase32(secret),
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_MS / 1000,
  })
}
