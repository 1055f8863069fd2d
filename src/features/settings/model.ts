import { type Static, t } from 'elysia'
import { closedObject, integer } from '../../platform/http/envelope.ts'
import { Features } from './conditions.ts'

const text = (description: string, example: string) =>
  t.String({ maxLength: 500, description, examples: [example] })
const version = (description: string, example: string) =>
  t.String({
    pattern: '^\\d{1,9}(\\.\\d{1,9}){0,3}$',
    error: 'must be a version such as 2.4.0',
    description,
    examples: [example],
  })
const build = (description: string, example: number) =>
  integer({ minimum: 0, description, examples: [example] })

const Platform = closedObject(
  {
    latestVersion: version('the newest version in the store; older apps offer the update', '2.4.0'),
    latestBuildNumber: build('its build number', 240),
    supportedVersion: version('the oldest supported version; older apps must be updated', '2.0.0'),
    supportedBuildNumber: build('its build number', 200),
  },
  'AppVersions',
  'the versions of the app on one platform',
)

const fields = {
  supportEmail: text('the e-mail address where users get help', 'support@example.com'),
  playStoreLink: text(
    'the app in the Play Store',
    'https://play.google.com/store/apps/details?id=com.example.app',
  ),
  appStoreLink: text('the app in the App Store', 'https://apps.apple.com/app/id000000000'),
  termsUrl: text('the terms of use', 'https://example.com/terms'),
  privacyUrl: text('the privacy policy', 'https://example.com/privacy'),
  ios: Platform,
  android: Platform,
  underMaintenance: t.Boolean({
    description: 'whether apps ask users to come back later',
    examples: [false],
  }),
  hardPaywall: t.Boolean({
    description: 'whether apps require a subscription',
    examples: [false],
  }),
}

/** The settings as stored and edited. */
export const StoredSettings = closedObject({ ...fields, features: Features })
export type StoredSettings = Static<typeof StoredSettings>

/** The settings that are the same for all users. */
export type AppSettings = Omit<StoredSettings, 'features'>

/** The settings in the reply to an app. */
export const AppSettingsReply = closedObject(
  {
    ...fields,
    features: t.Optional(
      t.Record(t.String(), t.Union([t.Boolean(), t.Number(), t.String()]), {
        description:
          'custom settings of this app, evaluated for the request; absent if there are none',
        examples: [{ newPaywall: true }],
      }),
    ),
  },
  'AppSettings',
  'the settings of the app',
)

/** The tag of all endpoints that apps call without signing in. */
export const appTags = { App: 'Public data for apps, without signing in' }
