import type { AppSettings } from './models.ts'

/** The installed app. */
export type InstalledApp = {
  /** `web` is never too old: reloading updates it. */
  platform: 'ios' | 'android' | 'web'
  /** Such as `2.4.0`. */
  version: string
  /** Distinguishes builds of one version; without it only versions are compared. */
  buildNumber?: number | undefined
}

/** Whether the app must be updated: its version or build is older than the supported one. */
export function isUpdateRequired(settings: AppSettings, app: InstalledApp): boolean {
  if (app.platform === 'web') return false
  const { supportedVersion, supportedBuildNumber } = settings[app.platform]
  return isOlder(app, supportedVersion, supportedBuildNumber)
}

/** Whether the store has an update: the app's version or build is older than the latest one. */
export function isUpdateAvailable(settings: AppSettings, app: InstalledApp): boolean {
  if (app.platform === 'web') return false
  const { latestVersion, latestBuildNumber } = settings[app.platform]
  return isOlder(app, latestVersion, latestBuildNumber)
}

function isOlder({ version, buildNumber }: InstalledApp, limit: string, build: number): boolean {
  const [installed, wanted] = [parseVersion(version), parseVersion(limit)]
  // A version that cannot be parsed must not lock users out.
  if (installed === null || wanted === null) return false
  const difference = compareVersions(installed, wanted)
  return difference < 0 || (difference === 0 && buildNumber !== undefined && buildNumber < build)
}

/** Compares the leading numbers between the dots: missing ones are 0, and a suffix such as `-beta.1` or `(231)` does not count. */
function compareVersions(left: number[], right: number[]): number {
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function parseVersion(version: string): number[] | null {
  const [, plain] = /^\s*v?(\d+(?:\.\d+)*)/i.exec(version) ?? []
  return plain ? plain.split('.').map(Number) : null
}
