import type { Config } from '../config.ts'
import { publicUrl } from './public-url.ts'

/** The relying party of users' passkeys: its id, and the origins that may use the passkeys. */
export function passkeyRelyingParty(config: Config): { rpId: string; origins: string[] } {
  const url = publicUrl(config)
  const apps = config.androidApps.flatMap(({ fingerprints }) => fingerprints)
  const origins = [url, ...config.passkeyOrigins, ...apps.map(androidOrigin)]
  return { rpId: config.passkeyRpId ?? new URL(url).hostname, origins: [...new Set(origins)] }
}

/** The origin that Android reports for an app with this certificate. */
function androidOrigin(fingerprint: string): string {
  const hash = Buffer.from(fingerprint.replaceAll(':', ''), 'hex').toString('base64url')
  return `android:apk-key-hash:${hash}`
}
