import type { Config } from '../config.ts'
import { createAppleGrants } from '../features/users/social/apple-grants.ts'

/** How Apple is told that an account is gone; null where its keys are not set. */
export function appleGrantsOf(
  { appleTeamId, appleKeyId, applePrivateKey }: Config,
  url: string,
  now: () => Date,
) {
  if (appleTeamId === null || appleKeyId === null || applePrivateKey === null) return null
  const keys = { teamId: appleTeamId, keyId: appleKeyId, privateKey: applePrivateKey, url }
  return createAppleGrants(keys, now)
}
