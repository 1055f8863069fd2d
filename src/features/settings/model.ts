import { type Static, t } from 'elysia'
import { strict } from '../../http/envelope.ts'

const text = t.String({ maxLength: 500 })
const version = t.String({
  pattern: '^\\d{1,9}(\\.\\d{1,9}){0,3}$',
  error: 'must be a version such as 2.4.0',
})
const build = t.Integer({ minimum: 0 })

const Platform = strict(
  {
    latestVersion: version,
    latestBuildNumber: build,
    supportedVersion: version,
    supportedBuildNumber: build,
  },
  'AppVersions',
)

export const AppSettings = strict(
  {
    supportEmail: text,
    playStoreLink: text,
    appStoreLink: text,
    termsUrl: text,
    privacyUrl: text,
    ios: Platform,
    android: Platform,
    underMaintenance: t.Boolean(),
    hardPaywall: t.Boolean(),
  },
  'AppSettings',
)
export type AppSettings = Static<typeof AppSettings>

/** The tag of everything that apps read before anybody signs in. */
export const appTags = { App: 'What every copy of the app reads, without a token' }
