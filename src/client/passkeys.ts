import type {
  Passkey,
  PasskeyAssertion,
  PasskeyAttestation,
  PasskeyCreationOptions,
  PasskeyRequestOptions,
  Session,
} from './models.ts'
import type { CallOptions, Message } from './shared-types.ts'

/** The result of `credential.toJSON()`: TypeScript has one type for new passkeys and sign-ins. */
export type PasskeyCredential = PasskeyAttestation | PasskeyAssertion

export type PasskeyFunctions = {
  /** Returns the options for signing in with any passkey of the app. */
  startPasskeySignIn: (options?: CallOptions) => Promise<PasskeyRequestOptions>
  /** Signs in with a passkey; no two-factor code is needed. A guest's data moves to the account. Throws `invalid_credentials`, and `session_ended` as `register` does. */
  signInWithPasskey: (
    login: { credential: PasskeyCredential },
    options?: CallOptions,
  ) => Promise<Session>
  /** Returns the user's passkeys, oldest first. */
  listPasskeys: (options?: CallOptions) => Promise<Passkey[]>
  /** Returns the options for creating a passkey. Throws `recent_sign_in_required` if no password is given and the sign-in is more than ten minutes old, `invalid_credentials` if the password is wrong, and `two_factor_required` without a code if two-factor is on. */
  startPasskeyRegistration: (
    proof: { password?: string | undefined; code?: string | undefined },
    options?: CallOptions,
  ) => Promise<PasskeyCreationOptions>
  /** Adds a passkey, and turns a guest into an account with this passkey. Throws `invalid_credentials`, or `conflict` if the user has too many passkeys. */
  addPasskey: (
    passkey: { credential: PasskeyCredential; name?: string | undefined },
    options?: CallOptions,
  ) => Promise<Passkey>
  /** Renames a passkey. Throws `not_found`. */
  renamePasskey: (passkey: { id: string; name: string }, options?: CallOptions) => Promise<Passkey>
  /** Removes a passkey and signs out all other devices. Throws `not_found`, `conflict` if it is the only way to sign in, `two_factor_required` without a code if two-factor is on. */
  removePasskey: (
    passkey: { id: string; code?: string | undefined },
    options?: CallOptions,
  ) => Promise<Message>
}
