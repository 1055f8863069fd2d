import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { AppError } from '../errors.ts'

/** `consumeChallenge` returns false unless the challenge is valid. */
type Expectations = {
  rpId: string
  origins: string[]
  consumeChallenge: (challenge: string) => Promise<boolean>
}

/** A stored passkey. `id` and `publicKey` (COSE): base64url. */
type StoredPasskey = { id: string; publicKey: string; counter: number }

/** The limit of WebAuthn level 3 (§7.1). */
const MAX_ID_BYTES = 1023
/** The kinds of attestation for which the library has root certificates. */
const ROOTED_ATTESTATIONS = ['android-key', 'android-safetynet', 'apple'] as const

/** Loads the library on first use. Only this import gives the executable the `Reflect` metadata that it needs. */
export async function loadWebAuthn() {
  await import('reflect-metadata')
  const library = await import('@simplewebauthn/server')
  // We request no attestation. With roots, the library would fetch whatever address a certificate names.
  for (const identifier of ROOTED_ATTESTATIONS)
    library.SettingsService.setRootCertificates({ identifier, certificates: [] })
  return library
}

/** Verifies a new passkey and returns what to store. Throws `invalid_credentials`. */
export async function verifyNewPasskey(
  response: RegistrationResponseJSON,
  expected: Expectations,
): Promise<StoredPasskey & { transports: string[] }> {
  const { verifyRegistrationResponse } = await loadWebAuthn()
  const { registrationInfo } = await verifyRegistrationResponse({
    response,
    ...libraryOptions(expected),
  }).catch(throwRefusal)
  if (!registrationInfo) throw passkeyRefused()
  const { id, publicKey: key, counter, transports } = registrationInfo.credential
  if (fromBase64url(id).length > MAX_ID_BYTES) throw passkeyRefused()
  const publicKey = Buffer.from(key).toString('base64url')
  return { id, publicKey, counter, transports: transports ?? [] }
}

/** Verifies a signature of `passkey` and returns its new counter. Throws `invalid_credentials`. */
export async function verifyPasskey(
  response: AuthenticationResponseJSON,
  { id, publicKey, counter }: StoredPasskey,
  expected: Expectations,
): Promise<number> {
  const { verifyAuthenticationResponse } = await loadWebAuthn()
  const credential = { id, counter, publicKey: fromBase64url(publicKey) }
  const { authenticationInfo, verified } = await verifyAuthenticationResponse({
    response,
    credential,
    ...libraryOptions(expected),
  }).catch(throwRefusal)
  if (!verified) throw passkeyRefused()
  return authenticationInfo.newCounter
}

function libraryOptions({ rpId, origins, consumeChallenge }: Expectations) {
  return {
    expectedChallenge: consumeChallenge,
    expectedOrigin: origins,
    expectedRPID: rpId,
    requireUserVerification: true,
  }
}

export function fromBase64url(text: string) {
  return new Uint8Array(Buffer.from(text, 'base64url'))
}

function throwRefusal(error: unknown): never {
  if (error instanceof AppError) throw error
  throw passkeyRefused(error)
}

export function passkeyRefused(cause?: unknown): AppError {
  return new AppError('invalid_credentials', 'This passkey was not accepted.', {
    cause,
    denial: { reason: 'wrong_passkey' },
  })
}
