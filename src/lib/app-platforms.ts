/** The platforms that apps report in the `App-Platform` header. */
export const PLATFORMS = ['ios', 'android', 'web'] as const

export type Platform = (typeof PLATFORMS)[number]

export const PLATFORM_NAMES: Record<string, string> = { ios: 'iOS', android: 'Android', web: 'Web' }
