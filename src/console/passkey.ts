import { startAuthentication, startRegistration } from '@simplewebauthn/browser'
import { failure, send } from './api.ts'

export type PasskeyOptions = Parameters<typeof startRegistration>[0]['optionsJSON']

/** Named after the device. */
export async function createPasskey(optionsJSON: PasskeyOptions) {
  const passkey = await startRegistration({ optionsJSON }).catch(rejectPasskey)
  return { passkey, passkeyName: deviceName() }
}

export async function signWithPasskey(path: string) {
  const optionsJSON = await send<Parameters<typeof startAuthentication>[0]['optionsJSON']>(path)
  return startAuthentication({ optionsJSON }).catch(rejectPasskey)
}

/** The browser refuses when the operator cancels, waits too long or has no passkey for this site. */
function rejectPasskey(): never {
  throw failure('The passkey was not used: try again.')
}

function deviceName(): string {
  const { userAgent } = navigator
  const system = /iPhone|iPad|Android|Mac OS|Windows|Linux/.exec(userAgent)?.[0] ?? 'Passkey'
  return system === 'Mac OS' ? 'Mac' : system
}
