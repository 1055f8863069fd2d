import { ACCESS_TOKEN_TTL_SECONDS } from '../features/users/sessions/tokens.ts'
import { DAY_MS } from '../lib/durations.ts'
import { createKeyRing } from '../lib/key-ring.ts'
import type { Secrets } from '../secrets.ts'

/** Apps pin the key that they seal for, and are updated slowly: a month. */
const SEALED_REQUESTS_ACCEPTED_MS = 30 * DAY_MS

/** The keys that sign access tokens and those that open sealed requests; replaced ones are accepted for a while. */
export async function createKeyRings(secrets: Secrets, now: () => Date) {
  const encryptionKeys = await createKeyRing({
    kept: secrets.encryptionKeys,
    use: 'enc',
    alg: 'ECDH-ES',
    acceptedAfter: SEALED_REQUESTS_ACCEPTED_MS,
    now,
  })
  const signingKeys = await createKeyRing({
    kept: secrets.accessTokenKeys,
    use: 'sig',
    alg: 'ES256',
    acceptedAfter: ACCESS_TOKEN_TTL_SECONDS * 1000,
    now,
  })
  return { encryptionKeys, signingKeys }
}
