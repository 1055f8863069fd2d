import type { InstalledApp } from './updates.ts'

/** The installed app, and its device. `buildNumber` is not sent. */
export type AppContext = InstalledApp & {
  /** Any text that stays the same on this device; settings with a percentage rollout use it before sign-in. */
  deviceId?: string | undefined
}

type Context = {
  app?: AppContext | undefined
  device?: string | undefined
  language?: string | undefined
}

/** The headers that describe the device and the app. */
export function contextHeaders({ app, device, language }: Context): Record<string, string> {
  const { navigator } = globalThis as { navigator?: { languages?: readonly string[] } }
  const { timeZone, locale } = Intl.DateTimeFormat().resolvedOptions()
  // React Native has no list of languages and sends no Accept-Language.
  const languages = language ?? (navigator?.languages?.join(', ') || locale)
  return {
    timezone: timeZone,
    // Headers are ASCII, and device names can contain any character.
    ...(device === undefined ? {} : { device: encodeURIComponent(device.replace(/\p{Cs}/gu, '')) }),
    ...(app ? appHeaders(app) : {}),
    ...(languages ? { 'accept-language': languages.replace(/[^ -~]/g, '') } : {}),
  }
}

function appHeaders({ platform, version, deviceId }: AppContext): Record<string, string> {
  return {
    'app-platform': platform,
    'app-version': version,
    ...(deviceId ? { 'device-id': encodeURIComponent(deviceId) } : {}),
  }
}
