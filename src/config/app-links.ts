import type { SettingsReader } from './define-setting.ts'
import { isHostName, isSecureInTransit, origin } from './values.ts'

/** An Android app, and the SHA-256 fingerprints of the certificates that sign it, such as `AB:CD:…`. */
type AndroidApp = { packageName: string; fingerprints: string[] }

/** The apps that open this server's links, and the parties to users' passkeys. */
export function readAppLinks({ read, optional, all }: SettingsReader) {
  return {
    appleAppIds: all(
      'APPLE_APP_IDS',
      'ids such as ABCDE12345.com.example.app, separated by commas',
      (part) => /^[A-Z0-9]{10}(\.[A-Za-z0-9-]+)+$/.test(part),
    ),
    androidApps: read<AndroidApp[]>(
      'ANDROID_APPS',
      [],
      'apps such as com.example.app=AB:CD:…, each with a SHA-256 fingerprint of 32 bytes, separated by commas',
      androidApps,
    ),
    /** The host that passkeys are bound to; null for the host of the public URL. */
    passkeyRpId: optional('PASSKEY_RP_ID', 'a host name or localhost', (text) =>
      text === 'localhost' || isHostName(text) ? text : undefined,
    ),
    /** Other web origins that may use the passkeys. */
    passkeyOrigins: all(
      'PASSKEY_ORIGINS',
      'https origins such as https://app.example.com (http on loopback), separated by commas',
      (part) => origin(part) === part && isSecureInTransit(new URL(part)),
    ),
  }
}

/** Parses `package=fingerprint` pairs. A package may occur several times, with one fingerprint each. */
function androidApps(text: string): AndroidApp[] | undefined {
  const apps = new Map<string, Set<string>>()
  for (const part of text.split(',')) {
    const [, name, fingerprint] = ANDROID_APP.exec(part.trim()) ?? []
    if (name === undefined || fingerprint === undefined) return undefined
    apps.set(name, (apps.get(name) ?? new Set()).add(fingerprint.toUpperCase()))
  }
  return [...apps].map(([packageName, prints]) => ({ packageName, fingerprints: [...prints] }))
}

const ANDROID_APP = /^([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+)=([0-9a-f]{2}(?::[0-9a-f]{2}){31})$/i
