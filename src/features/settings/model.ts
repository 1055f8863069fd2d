import type { TOptional } from '@sinclair/typebox'
import { type Static, type TSchema, t } from 'elysia'
import { closedObject, flag, integer, nullable } from '../../platform/http/replies/envelope.ts'
import { createRulesSchema, VERSION } from './rules/conditions.ts'

const text = (description: string, example: string) =>
  t.String({ maxLength: 500, description, examples: [example] })
const version = (description: string, example: string) =>
  t.String({
    pattern: VERSION,
    error: 'must be a version such as 2.4.0',
    description,
    examples: [example],
  })
const build = (description: string, example: number) =>
  integer({ minimum: 0, description, examples: [example] })

const Platform = closedObject(
  {
    latestVersion: version('the newest version in the store; older apps offer the update', '2.4.0'),
    latestBuildNumber: build('its build number; compared only in apps of the same version', 240),
    supportedVersion: version('the oldest supported version; older apps must be updated', '2.0.0'),
    supportedBuildNumber: build('its build number; compared only in apps of the same version', 200),
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
  underMaintenance: flag('whether apps ask users to come back later', false),
  hardPaywall: flag('whether apps require a subscription', false),
}

const { ios, android, ...single } = fields

/** The rules of the fixed settings, by key such as `ios.supportedVersion`. */
const Rules = closedObject({
  ...rulesByKey(single),
  ...rulesByKey(ios.properties, 'ios.'),
  ...rulesByKey(android.properties, 'android.'),
})

const FeatureValue = t.Union([t.Boolean(), t.Number(), t.String({ maxLength: 10_000 })])

const Features = t.Record(
  t.String({ pattern: '^[a-z][A-Za-z0-9]{0,63}$', error: 'must be a name such as newPaywall' }),
  closedObject({ value: FeatureValue, rules: createRulesSchema(FeatureValue) }),
  { additionalProperties: false },
)

/** The settings as stored and edited. `rules` is absent if no fixed setting has rules. */
export const StoredSettings = closedObject({
  ...fields,
  features: Features,
  rules: t.Optional(Rules),
})
export type StoredSettings = Static<typeof StoredSettings>

const trait = nullable(t.String({ maxLength: 200 }))

/** A requester for whom settings are explained. */
export const AudienceInput = closedObject({
  platform: trait,
  version: nullable(t.String({ pattern: VERSION, error: 'must be a version such as 2.4.0' })),
  languages: t.Array(t.String({ maxLength: 35 }), { maxItems: 10 }),
  country: trait,
  plan: trait,
  id: trait,
})

export type AppSettings = Static<typeof AppSettingsReply>

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
  'the settings of the app, evaluated for the device and the user',
)

function rulesByKey(properties: Record<string, TSchema>, prefix = '') {
  const entries = Object.entries(properties)
  return Object.fromEntries(
    entries.map(([name, value]) => [`${prefix}${name}`, t.Optional(createRulesSchema(value))]),
  ) as Record<string, TOptional<ReturnType<typeof createRulesSchema<TSchema>>>>
}

/** The tag of all endpoints that apps call without signing in. */
export const appTags = { App: 'Public data for apps, without signing in' }
