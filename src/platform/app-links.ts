import { Elysia } from 'elysia'
import type { Config } from '../config/config.ts'
import { publicUrl } from './public-url.ts'

/** The relying party of users' passkeys: its id, and the origins that may use the passkeys. */
export function passkeyRelyingParty(config: Config): { rpId: string; origins: string[] } {
  const url = publicUrl(config)
  const apps = config.androidApps.flatMap(({ fingerprints }) => fingerprints)
  const origins = [url, ...config.passkeyOrigins, ...apps.map(androidOrigin)]
  return { rpId: config.passkeyRpId ?? new URL(url).hostname, origins: [...new Set(origins)] }
}

/**
 * The configured files by path, for app links, passwords and passkeys. `linkPaths`: the paths of links that the apps open.
 * https://developer.apple.com/documentation/xcode/supporting-associated-domains
 * https://developers.google.com/digital-asset-links/v1/getting-started
 * https://www.w3.org/TR/webauthn-3/#sctn-related-origins
 */
export function wellKnownFiles(config: Config, linkPaths: string[]): Record<string, object> {
  const { appleAppIds: apps, androidApps, passkeyOrigins } = config
  const components = linkPaths.map((path) => ({ '/': path, '?': { token: '?*' } }))
  const origins = passkeyRelyingParty(config).origins.filter((origin) => /^https?:/.test(origin))
  return {
    ...(apps.length > 0 && {
      [APPLE_FILE]: {
        applinks: { details: [{ appIDs: apps, components }] },
        webcredentials: { apps },
      },
    }),
    ...(androidApps.length > 0 && { [ANDROID_FILE]: androidApps.map(assetLink) }),
    ...(passkeyOrigins.length > 0 && { [ORIGINS_FILE]: { origins } }),
  }
}

const APPLE_FILE = '/.well-known/apple-app-site-association'
const ANDROID_FILE = '/.well-known/assetlinks.json'
/** Browsers read it only from the relying party's host. */
export const ORIGINS_FILE = '/.well-known/webauthn'

function assetLink({ packageName, fingerprints }: Config['androidApps'][number]) {
  return {
    relation: [
      'delegate_permission/common.handle_all_urls',
      'delegate_permission/common.get_login_creds',
    ],
    target: {
      namespace: 'android_app',
      package_name: packageName,
      sha256_cert_fingerprints: fingerprints,
    },
  }
}

/** The origin that Android reports for an app with this certificate. */
function androidOrigin(fingerprint: string): string {
  const hash = Buffer.from(fingerprint.replaceAll(':', ''), 'hex').toString('base64url')
  return `android:apk-key-hash:${hash}`
}

/** The files under `/.well-known` that phones and browsers read; any others get 404. */
export function wellKnown(files: Record<string, object>) {
  const app = new Elysia({ name: 'well-known' })
  for (const [path, content] of Object.entries(files)) {
    const headers = { 'content-type': 'application/json', 'cache-control': 'public, max-age=3600' }
    app.get(path, () => Response.json(content, { headers }))
  }
  return app
}
