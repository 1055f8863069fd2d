import { createPrivateKey, X509Certificate } from 'node:crypto'

/** In PEM. */
export type Certificate = { cert: string; key: string; validFrom: Date; validTo: Date }

/** Why clients refuse a certificate at `now`; null while it is valid. */
export function describeInvalidity({ validFrom, validTo }: Certificate, now: Date): string | null {
  if (now > validTo) return `expired on ${validTo.toISOString()}`
  return now < validFrom ? `is not valid before ${validFrom.toISOString()}` : null
}

/** Throws if the key does not match the certificate, or either is not in PEM format. */
export function parseCertificate(cert: string, key: string): Certificate {
  const leaf = new X509Certificate(cert)
  if (!leaf.checkPrivateKey(createPrivateKey(key))) {
    throw new Error('the key does not match the certificate')
  }
  return { cert, key, validFrom: leaf.validFromDate, validTo: leaf.validToDate }
}
