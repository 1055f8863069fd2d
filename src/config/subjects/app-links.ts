import { listKind, setting, value } from '../setting.ts'
import { isHostName, isSecureInTransit, origin } from '../values.ts'

export const appLinkSettings = {
  appleAppIds: setting(
    'APPLE_APP_IDS',
    listKind('ids such as ABCDE12345.com.example.app', (part) =>
      /^[A-Z0-9]{10}(\.[A-Za-z0-9-]+)+$/.test(part),
    ),
    'apps that open this server’s links and use its passwords and passkeys: `ABCDE12345.com.example.app`',
    { page: 'sign-in.md' },
  ),
  androidApps: setting(
    'ANDROID_APPS',
    value(
      'apps such as com.example.app=AB:CD:…, each with a SHA-256 fingerprint of 32 bytes, separated by commas',
      androidApps,
      [],
    ),
    'the same for Android: `com.example.app=AB:CD:…` with the SHA-256 fingerprint of the signing certificate; repeat an app for each of its certificates',
  ),
  passkeyRpId: setting(
    'PASSKEY_RP_ID',
    value('a host name or localhost', (given) =>
      given === 'localhost' || isHostName(given) ? given : undefined,
    ),
    'the host name that users’ passkeys are bound to',
    { shown: 'the host of `BASE_URL`' },
  ),
  passkeyOrigins: setting(
    'PASSKEY_ORIGINS',
    listKind(
      'https origins such as https://app.example.com (http on loopback)',
      (part) => origin(part) === part && isSecureInTransit(new URL(part)),
    ),
    'other web origins that may use the passkeys: `https://app.example.com`',
  ),
}

/** An Android app, and the SHA-256 fingerprints of the certificates that sign it, such as `AB:CD:…`. */
type AndroidApp = { packageName: string; fingerprints: string[] }

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
