import { createHmac, X509Certificate } from 'node:crypto'
import { type AppleSigner, createAppleSigner } from './apple-signer.ts'

/** `fault`: the reason to refuse the token; null for a good one. `root`: the root that the verifier trusts. */
export type TokenCase = {
  what: string
  fault: string | null
  token: unknown
  root: X509Certificate
}

const P384 = { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' }

export const signer = await createAppleSigner()
/** Signs like Apple, but under an untrusted root. */
export const stranger = await createAppleSigner()
/** The claims of a transaction. */
export const CLAIMS = {
  bundleId: 'com.example.app',
  environment: 'Sandbox',
  originalTransactionId: '1000',
  signedDate: Date.UTC(2026, 6, 1),
}
export const GOOD = signer.sign(CLAIMS)

const [leaf, intermediate, root] = signer.x5c
const withChain = (x5c: unknown) => signer.sign(CLAIMS, { x5c })
const withHeader = (header: object) => signer.sign(CLAIMS, header)
const withClaims = (claims: object) => signer.sign({ ...CLAIMS, ...claims })

/** Tokens signed under `signer.root`, or not at all. */
const TOKENS: [what: string, fault: string | null, token: unknown][] = [
  ['a good token', null, GOOD],
  ['a foreign root in the header', null, withChain([leaf, intermediate, stranger.x5c[2]])],
  ['a key id and a key URL', null, withHeader({ kid: 'k', jku: 'http://x' })],
  ['an unknown claim', null, withClaims({ novel: { deep: true } })],
  ['an expired `exp` claim', null, withClaims({ exp: 1 })],
  ['a price that is a string', null, withClaims({ price: '9990' })],
  ['no certificates', 'wrong_chain', withChain(undefined)],
  ['a text instead of a chain', 'wrong_chain', withChain(leaf)],
  ['only the leaf', 'wrong_chain', withChain([leaf])],
  ['two certificates', 'wrong_chain', withChain([leaf, intermediate])],
  ['four certificates', 'wrong_chain', withChain([leaf, intermediate, root, root])],
  ['numbers instead of certificates', 'wrong_chain', withChain([1, 2, 3])],
  ['texts that are not certificates', 'wrong_chain', withChain(['x', 'y', 'z'])],
  ['a huge third certificate', 'wrong_chain', withChain([leaf, intermediate, 'A'.repeat(9_000)])],
  ['a foreign chain', 'untrusted_chain', stranger.sign(CLAIMS)],
  ['a chain in the wrong order', 'untrusted_chain', withChain([intermediate, leaf, root])],
  ['a foreign leaf', 'untrusted_chain', withChain([stranger.x5c[0], intermediate, root])],
  ['a foreign intermediate', 'untrusted_chain', withChain([leaf, stranger.x5c[1], root])],
  ['a foreign key', 'wrong_signature', stranger.sign(CLAIMS, { x5c: signer.x5c })],
  ['a changed payload', 'wrong_signature', changedPayload(GOOD)],
  ['a changed signature', 'wrong_signature', changedSignature(GOOD)],
  ['a signature of zeros', 'wrong_signature', withSignature(GOOD, Buffer.alloc(64))],
  ['no signature', 'wrong_signature', withSignature(GOOD, Buffer.alloc(0))],
  [
    'a signature in DER',
    'wrong_signature',
    withSignature(GOOD, Buffer.from('3006020101020101', 'hex')),
  ],
  ['the algorithm `none`', 'wrong_algorithm', withHeader({ alg: 'none' })],
  ['the algorithm ES384', 'wrong_algorithm', withHeader({ alg: 'ES384' })],
  ['the algorithm RS256', 'wrong_algorithm', withHeader({ alg: 'RS256' })],
  ['no algorithm', 'wrong_algorithm', withHeader({ alg: undefined })],
  ['a critical header', 'wrong_algorithm', withHeader({ crit: ['exp'] })],
  ['the certificate as a shared secret', 'wrong_algorithm', signedByHmac(signer)],
  ['no signing date', 'wrong_signed_date', withClaims({ signedDate: undefined })],
  [
    'a signing date that is a string',
    'wrong_signed_date',
    withClaims({ signedDate: '2026-07-01' }),
  ],
  [
    'a signing date before the certificates',
    'wrong_signed_date',
    withClaims({ signedDate: Date.UTC(2023, 11, 31) }),
  ],
  [
    'a signing date after the certificates',
    'wrong_signed_date',
    withClaims({ signedDate: Date.UTC(2034, 0, 2) }),
  ],
  ['four parts', 'malformed', `${GOOD}.x`],
  ['one part', 'malformed', 'x'],
  ['an empty text', 'malformed', ''],
  ['a number', 'malformed', 7],
  ['null', 'malformed', null],
  ['a header that is not JSON', 'malformed', `bm8.${GOOD.split('.').slice(1).join('.')}`],
]

/** Chains that a signer creates, and the fault of a token that they sign. */
const CHAINS: [
  what: string,
  fault: string | null,
  options: Parameters<typeof createAppleSigner>[0],
][] = [
  ['a leaf without its marker', 'wrong_certificate', { leaf: { marker: null } }],
  [
    'a leaf with the marker of the intermediate',
    'wrong_certificate',
    { leaf: { marker: '1.2.840.113635.100.6.2.1' } },
  ],
  ['an intermediate without its marker', 'wrong_certificate', { intermediate: { marker: null } }],
  [
    'an intermediate that is not a CA',
    'wrong_certificate',
    { intermediate: { isAuthority: false } },
  ],
  ['a leaf that is a CA', 'wrong_certificate', { leaf: { isAuthority: true } }],
  ['a leaf with a P-384 key', 'wrong_certificate', { leaf: { curve: P384 } }],
  ['a leaf that expired after the signature', null, { leaf: { to: '2026-07-02' } }],
  ['a leaf that expired before the signature', 'wrong_signed_date', { leaf: { to: '2026-06-30' } }],
  [
    'an intermediate that expired before the signature',
    'wrong_signed_date',
    { intermediate: { to: '2026-06-30' } },
  ],
]

/** Good and hostile tokens. */
export const tokenCases: TokenCase[] = [
  ...TOKENS.map(([what, fault, token]) => ({ what, fault, token, root: signer.root })),
  ...(await Promise.all(
    CHAINS.map(async ([what, fault, options]) => {
      const other = await createAppleSigner(options)
      return { what, fault, token: other.sign(CLAIMS), root: other.root }
    }),
  )),
]

/** The token with another transaction id and its old signature. */
function changedPayload(token: string): string {
  const [header, , signature] = token.split('.')
  const claims = JSON.stringify({ ...CLAIMS, originalTransactionId: '2000' })
  return [header, Buffer.from(claims).toString('base64url'), signature].join('.')
}

function changedSignature(token: string): string {
  const bytes = Buffer.from(token.split('.')[2] ?? '', 'base64url')
  bytes[0] = (bytes[0] ?? 0) ^ 1
  return withSignature(token, bytes)
}

function withSignature(token: string, signature: Buffer): string {
  return [...token.split('.').slice(0, 2), signature.toString('base64url')].join('.')
}

/** Signed with the public certificate as if it were a shared secret. */
function signedByHmac({ x5c, sign }: AppleSigner): string {
  const [header, payload] = sign(CLAIMS, { alg: 'HS256' }).split('.')
  const { publicKey } = new X509Certificate(Buffer.from(x5c[0] ?? '', 'base64'))
  const secret = publicKey.export({ type: 'spki', format: 'pem' })
  const mac = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url')
  return `${header}.${payload}.${mac}`
}
