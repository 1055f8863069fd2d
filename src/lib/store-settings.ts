import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { SettingsReader } from './settings-reader.ts'

/** The settings of the app stores. */
export function readStores({ read, optional }: SettingsReader) {
  return {
    /** The apps whose notifications the App Store sends here. */
    appStoreApps: read<AppStoreApp[]>(
      'APP_STORE_APPS',
      [],
      'apps such as com.example.app:1234567890, separated by commas',
      appStoreApps,
    ),
    /** Apple's root certificate; only tests use another. */
    appStoreRoot: optional('APP_STORE_ROOT_FILE', 'the path of a certificate', certificateFile),
  }
}

/** An app of the developer: its bundle id, and its id in the App Store. */
export type AppStoreApp = { bundleId: string; appleId: number }

/** Bundle ids with the ids that the App Store has given to the apps. */
function appStoreApps(text: string): AppStoreApp[] | undefined {
  const apps = text.split(',').map((part) => {
    const [, bundleId = '', appleId = ''] = /^([A-Za-z0-9.-]+):(\d{1,15})$/.exec(part.trim()) ?? []
    return { bundleId, appleId: Number(appleId) }
  })
  return apps.every(({ bundleId }) => bundleId !== '') ? apps : undefined
}

/** A certificate in PEM or DER. */
function certificateFile(path: string): X509Certificate | undefined {
  try {
    return new X509Certificate(readFileSync(path))
  } catch {
    return undefined
  }
}
