import { sign, X509Certificate } from 'node:crypto'
import * as x509 from '@peculiar/x509'

const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const P384 = { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' }
const LEAF_MARKER = '1.2.840.113635.100.6.11.1'
const INTERMEDIATE_MARKER = '1.2.840.113635.100.6.2.1'
const DER_NULL = new Uint8Array([5, 0])

type CertificateOptions = {
  marker?: string | null
  isAuthority?: boolean
  curve?: typeof P256
  from?: string
  to?: string
}

type SignerOptions = { leaf?: CertificateOptions; intermediate?: CertificateOptions }

export type AppleSigner = Awaited<ReturnType<typeof createAppleSigner>>

/** A certificate chain like Apple's, and a function that signs with its leaf. The options create chains that must be refused. */
export async function createAppleSigner({ leaf = {}, intermediate = {} }: SignerOptions = {}) {
  const root = await issue('Fake Apple Root', null, {
    isAuthority: true,
    curve: P384,
    marker: null,
  })
  const issuing = await issue('Fake WWDR', root, {
    isAuthority: true,
    curve: P384,
    marker: INTERMEDIATE_MARKER,
    ...intermediate,
  })
  const signing = await issue('Fake App Store', issuing, { marker: LEAF_MARKER, ...leaf })
  const x5c = [signing, issuing, root].map(({ certificate }) =>
    Buffer.from(certificate.rawData).toString('base64'),
  )
  const privateKey = Buffer.from(await crypto.subtle.exportKey('pkcs8', signing.keys.privateKey))
  return {
    root: new X509Certificate(Buffer.from(root.certificate.rawData)),
    x5c,
    sign: (claims: object, header: object = {}) =>
      signToken(claims, { alg: 'ES256', x5c, ...header }, privateKey),
  }
}

/** A compact JWS. */
function signToken(claims: object, header: object, privateKey: Buffer): string {
  const content = [header, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const data = Buffer.from(content.join('.'))
  const key = { key: privateKey, format: 'der', type: 'pkcs8', dsaEncoding: 'ieee-p1363' } as const
  return `${content.join('.')}.${sign('sha256', data, key).toString('base64url')}`
}

type Issued = { certificate: x509.X509Certificate; keys: CryptoKeyPair; curve: typeof P256 }

async function issue(
  name: string,
  issuer: Issued | null,
  options: CertificateOptions,
): Promise<Issued> {
  const { marker = null, isAuthority = false, curve = P256 } = options
  const { from = '2024-01-01', to = '2034-01-01' } = options
  const keys = (await crypto.subtle.generateKey(curve, true, ['sign', 'verify'])) as CryptoKeyPair
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex'),
    subject: `CN=${name}`,
    issuer: issuer?.certificate.subject ?? `CN=${name}`,
    notBefore: new Date(from),
    notAfter: new Date(to),
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    signingAlgorithm: issuer?.curve ?? curve,
    extensions: [
      new x509.BasicConstraintsExtension(isAuthority, undefined, true),
      ...(marker === null ? [] : [new x509.Extension(marker, false, DER_NULL)]),
    ],
  })
  return { certificate, keys, curve }
}
