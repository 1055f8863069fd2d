import { Elysia, t } from 'elysia'
import type { PublicKey } from '../../lib/crypto/key-ring.ts'
import { openEnum, responses, text } from './replies/envelope.ts'

const Key = t.Object(
  {
    kty: text('the key type', 'EC'),
    crv: text('the curve', 'P-256'),
    x: text('base64url', 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'),
    y: text('base64url', 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'),
    kid: text('RFC 7638 thumbprint', 'R29SW4UBZ_7k3hbNnZtcNN6KfZjqvXtzLzoSxkPhGw4'),
    use: openEnum(['sig', 'enc'], { description: 'the use of the key' }),
    alg: openEnum(['ES256', 'ECDH-ES'], { description: 'the algorithm' }),
  },
  { title: 'PublicKey', description: 'a public key (RFC 7517)' },
)

/** `/.well-known/jwks.json`: the public keys for verifying access tokens and for sealing payloads. */
export function jwks({ publicKeys }: { publicKeys: () => PublicKey[] }) {
  return new Elysia({ name: 'jwks' }).get(
    '/.well-known/jwks.json',
    ({ set }) => {
      set.headers['cache-control'] = 'public, max-age=3600'
      return { keys: publicKeys() }
    },
    {
      response: responses(
        t.Object({
          keys: t.Array(Key, { description: 'the current key of each use comes first' }),
        }),
        400,
      ),
      detail: {
        tags: ['Signing in'],
        operationId: 'readKeys',
        summary: 'Public keys: `use` is `sig` (access tokens) or `enc` (payloads)',
        description: 'JWK Set (RFC 7517). The first key of each use is the current one.',
      },
    },
  )
}
