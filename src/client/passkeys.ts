import type { CallOptions, Message } from './shared-types.ts'
import type { Session } from './users.ts'

/** A passkey of the user. */
export type Passkey = {
  _id: string
  /** By which the user recognizes it. */
  name: string
  /** ISO 8601. */
  createdAt: string
  /** ISO 8601; null if it was never used. */
  lastUsedAt: string | null
}

/** The options for `navigator.credentials.create`: pass them to `PublicKeyCredential.parseCreationOptionsFromJSON`, or as JSON to the platform. */
export type PasskeyCreationOptions = {
  /** Base64url. */
  challenge: string
  rp: { id: string; name: string }
  user: { id: string; name: string; displayName: string }
  pubKeyCredParams: { alg: number; type: 'public-key' }[]
  /** Milliseconds. */
  timeout: number
  attestation: 'none'
  excludeCredentials: { id: string; type: 'public-key' }[]
  authenticatorSelection: {
    residentKey: 'required'
    requireResidentKey: boolean
    userVerification: 'required'
  }
}

/** The options for `navigator.credentials.get`: pass them to `PublicKeyCredential.parseRequestOptionsFromJSON`, or as JSON to the platform. */
export type PasskeyRequestOptions = {
  /** Base64url. */
  challenge: string
  rpId: string
  /** Milliseconds. */
  timeout: number
  userVerification: 'required'
}

/** Common to both results. Byte strings are base64url. */
type PasskeyCredential<Response> = {
  id: string
  rawId: string
  type: 'public-key'
  authenticatorAttachment?: string
  clientExtensionResults?: Record<string, unknown> | null
  response: Response
}

/** The result of `navigator.credentials.create`: `credential.toJSON()`. */
export type PasskeyAttestation = PasskeyCredential<{
  clientDataJSON: string
  attestationObject: string
  transports?: string[] | null
}>

/** The result of `navigator.credentials.get`: `credential.toJSON()`. */
export type PasskeyAssertion = PasskeyCredential<{
  clientDataJSON: string
  authenticatorData: string
  signature: string
  userHandle?: string | null
}>

/** The passkeys, as part of a data export. */
export type PasskeyExport = { passkeys: Passkey[] }

/** Passkeys. */
export type PasskeyFunctions = {
  /** Returns the options for signing in with any passkey of the app. */
  startPasskeySignIn: (options?: CallOptions) => Promise<PasskeyRequestOptions>
  /** Signs in with a passkey, without a second step; the account takes over a guest's data. Throws `invalid_credentials`, and `session_ended` as `register` does. */
  signInWithPasskey: (
    login: { credential: PasskeyAssertion },
    options?: CallOptions,
  ) => Promise<Session>
  /** Returns the user's passkeys, oldest first. */
  listPasskeys: (options?: CallOptions) => Promise<Passkey[]>
  /** Returns the options for creating a passkey. Throws `recent_sign_in_required` without the password, ten minutes after the sign-in, `invalid_credentials` for a wrong one, and `two_factor_required` without a code if two-factor is on. */
  startPasskeyRegistration: (
    proof: { password?: string; code?: string },
    options?: CallOptions,
  ) => Promise<PasskeyCreationOptions>
  /** Adds a passkey; a guest becomes an account that signs in with it. Throws `invalid_credentials`, `conflict` if there are too many. */
  addPasskey: (
    passkey: { credential: PasskeyAttestation; name?: string },
    options?: CallOptions,
  ) => Promise<Passkey>
  /** Renames a passkey. Throws `not_found`. */
  renamePasskey: (passkey: { id: string; name: string }, options?: CallOptions) => Promise<Passkey>
  /** Removes a passkey and signs out all other devices. Throws `not_found`, `conflict` if it is the only way to sign in, `two_factor_required` without a code if two-factor is on. */
  removePasskey: (passkey: { id: string; code?: string }, options?: CallOptions) => Promise<Message>
}
