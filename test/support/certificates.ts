import { KeyObject } from 'node:crypto'
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'
import { type Certificate, parseCertificate } from '../../src/cli/tls/certificate.ts'

/** Creates a self-signed certificate. */
export async function selfSigned(
  domain: string,
  validity: { notBefore?: Date; notAfter?: Date } = {},
): Promise<Certificate> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${domain}`,
    ...validity,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: domain }])],
  })
  const key = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' })
  return parseCertificate(certificate.toString('pem'), String(key))
}
