import {
  startAuthentication,
  startRegistration,
  WebAuthnAbortService,
} from '@simplewebauthn/browser'
import type { Client } from './client.ts'
import type { Passkey, Session } from './models.ts'

/**
 * Creates a passkey and adds it to the account, even in browsers that cannot convert options and credentials
 * themselves (Safari before 18.4, Firefox before 119, web views before Chromium 129). `password`, `code`: as for
 * `startPasskeyRegistration`. Throws the errors of the client, and an `Error` with the browser's `name`: `NotAllowedError`
 * if the user cancels, `InvalidStateError` if the device has a passkey of the account already.
 */
export async function addPasskey(
  client: Client,
  input: {
    name?: string | undefined
    password?: string | undefined
    code?: string | undefined
  } = {},
): Promise<Passkey> {
  const { name, password, code } = input
  const optionsJSON = await client.startPasskeyRegistration({ password, code })
  const credential = await startRegistration({ optionsJSON })
  return client.addPasskey({ credential, name })
}

/**
 * Signs in with a passkey in the browser. With `isInForm`, the browser offers passkeys in an input with
 * `autocomplete="username webauthn"` until `signal` aborts. Throws the errors of the client, and an `Error` with the
 * browser's `name`: `NotAllowedError` if the user cancels, `AbortError` for the signal.
 */
export async function signInWithPasskey(
  client: Client,
  input: { isInForm?: boolean | undefined; signal?: AbortSignal | undefined } = {},
): Promise<Session> {
  const { isInForm = false, signal } = input
  const optionsJSON = await client.startPasskeySignIn({ signal })
  const cancel = () => WebAuthnAbortService.cancelCeremony()
  signal?.addEventListener('abort', cancel)
  const credential = await startAuthentication({
    optionsJSON,
    useBrowserAutofill: isInForm,
    verifyBrowserAutofillInput: false,
  }).finally(() => signal?.removeEventListener('abort', cancel))
  return client.signInWithPasskey({ credential })
}
