import type { AppSettings } from './app-data.ts'

/** The app as it runs. */
export type InstalledApp = {
  /** A page is never too old: it is loaded anew. */
  platform: 'ios' | 'android' | 'web'
  /** Such as `2.4.0`. */
  version: string
  /** Tells builds of one version apart; without it only versions are compared. */
  buildNumber?: number
}

/** Whether the app is too old to go on: it is below the supported version, or at it with an older build. */
export function isUpdateRequired(settings: AppSettings, app: InstalledApp): boolean {
  if (app.platform === 'web') return false
  const { supportedVersion, supportedBuildNumber } = settings[app.platform]
  return isOlder(app, supportedVersion, supportedBuildNumber)
}

/** Whether the store has a newer app: the app is below the latest version, or at it with an older build. */
export function isUpdateAvailable(settings: AppSettings, app: InstalledApp): boolean {
  if (app.platform === 'web') return false
  const { latestVersion, latestBuildNumber } = settings[app.platform]
  return isOlder(app, latestVersion, latestBuildNumber)
}

function isOlder({ version, buildNumber }: InstalledApp, than: string, build: number): boolean {
  const [own, other] = [numbersOf(version), numbersOf(than)]
  // Nobody is locked out by a version that cannot be read.
  if (own === null || other === null) return false
  const difference = compareVersions(own, other)
  return difference < 0 || (difference === 0 && buildNumber !== undefined && buildNumber < build)
}

/** By the numbers between the dots; missing ones are 0, and `-beta.1` or `+7` behind them are left out. */
function compareVersions(left: number[], right: number[]): number {
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function numbersOf(version: string): number[] | null {
  const [, plain] = /^v?(\d+(?:\.\d+)*)(?:[-+ ]|$)/i.exec(version) ?? []
  return plain ? plain.split('.').map(Number) : null
}
