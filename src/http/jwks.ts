import { Elysia, t } from 'elysia'
import type { JWK } from 'jose'
import { responses } from './envelope.ts'

/** `/.well-known/jwks.json`: the keys that access tokens are checked with and payloads are sealed for. */
export function jwks({ publicKeys }: { publicKeys: () => JWK[] }) {
  return new Elysia({ name: 'jwks' }).get(
    '/.well-known/jwks.json',
    ({ set }) => {
      set.headers['cache-control'] = 'public, max-age=3600'
      return { keys: publicKeys() }
    },
    {
      response: responses(t.Object({ keys: t.Array(t.Any()) }), 400),
      detail: {
        tags: ['Signing in'],
        operationId: 'readKeys',
        summary: 'Public keys: `use` says `sig` (access tokens) or `enc` (payloads)',
      },
    },
  )
}
