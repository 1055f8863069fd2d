import { startAuthentication, startRegistration } from '@simplewebauthn/browser'
import { failure, send } from './api.ts'

export type PasskeyOptions = Parameters<typeof startRegistration>[0]['optionsJSON']

const IP_ADDRESS = /^[\d.]+$|^\[/

/** Why this page cannot use passkeys; null if it can. */
export const passkeyObstacle = findObstacle()

function findObstacle(): string | null {
  if (typeof PublicKeyCredential === 'undefined') return 'This browser does not support passkeys.'
  const { hostname } = location
  return IP_ADDRESS.test(hostname)
    ? `Passkeys need a host name, such as localhost, and ${hostname} is an IP address.`
    : null
}

/** Creates a passkey that is named after the device. */
export async function createPasskey(optionsJSON: PasskeyOptions) {
  const passkey = await startRegistration({ optionsJSON }).catch((error) => {
    const isKnown = error.name === 'InvalidStateError'
    throw failure(isKnown ? 'This device already has a passkey for you.' : describe(error))
  })
  return { passkey, passkeyName: deviceName() }
}

export async function signWithPasskey(path: string) {
  const optionsJSON = await send<Parameters<typeof startAuthentication>[0]['optionsJSON']>(path)
  return startAuthentication({ optionsJSON }).catch((error) => {
    throw failure(describe(error))
  })
}

/** Browsers do not report why no passkey was used. */
function describe({ name, message }: Error): string {
  return ['NotAllowedError', 'AbortError'].includes(name)
    ? `No passkey was used: you cancelled, the time ran out, or this browser has none for ${location.hostname}.`
    : `The browser refused the passkey: ${message}`
}

function deviceName(): string {
  const { userAgent } = navigator
  const system = /iPhone|iPad|Android|Mac OS|Windows|Linux/.exec(userAgent)?.[0] ?? 'Passkey'
  return system === 'Mac OS' ? 'Mac' : system
}
