import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** The content of a release's signed `SHA256SUMS`. */
export type Release = {
  version: string
  commit: string
  /** When its commit was made, in ISO 8601. */
  date: string
  /** SHA-256 in hex, by file name. */
  sums: Map<string, string>
}

const HEADER = /^# homeport (\d+\.\d+\.\d+[\w.+-]*) (\S+) (\S+)$/
const LINE = /^([0-9a-f]{64}) {2}(\S+)$/

/** The text of `SHA256SUMS`. `sha256sum -c` ignores the first line as a comment. */
export function formatSums({ version, commit, date, sums }: Release): string {
  const lines = [...sums].map(([name, sum]) => `${sum}  ${name}`)
  return [`# homeport ${version} ${commit} ${date}`, ...lines, ''].join('\n')
}

/** Signs `SHA256SUMS` with an Ed25519 private key in PEM. Returns a signature of 64 bytes. */
export function signSums(text: string, privateKey: string): Buffer {
  return sign(null, Buffer.from(text), readKey(privateKey))
}

/** The public key of a private key, as executables pin it: SPKI in base64. */
export function toPublicKey(privateKey: string): string {
  const spki = createPublicKey(readKey(privateKey)).export({ format: 'der', type: 'spki' })
  return spki.toString('base64')
}

/** Parses a `SHA256SUMS` signed by one of the public keys; null when none matches. */
export function verifySums(text: string, signature: Buffer, publicKeys: string[]): Release | null {
  const isSigned = publicKeys.some((key) => {
    const spki = { key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' } as const
    return verify(null, Buffer.from(text), createPublicKey(spki), signature)
  })
  if (!isSigned) return null
  const [header = '', ...lines] = text.split('\n')
  const [, version, commit, date] = HEADER.exec(header) ?? []
  if (!version || !commit || !date) return null
  const entries = lines.flatMap((line) => {
    const [, sum, name] = LINE.exec(line) ?? []
    return sum && name ? [[name, sum] as const] : []
  })
  return { version, commit, date, sums: new Map(entries) }
}

function readKey(pem: string): KeyObject {
  const key = createPrivateKey(pem)
  if (key.asymmetricKeyType === 'ed25519') return key
  throw new Error(
    'the release key is not an Ed25519 key: create one with openssl genpkey -algorithm ed25519',
  )
}
