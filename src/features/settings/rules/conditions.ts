import { type Static, type TSchema, t } from 'elysia'
import { PLATFORMS } from '../../../lib/app-platforms.ts'
import { closedObject, literalUnion } from '../../../platform/http/replies/envelope.ts'

export const VERSION = '^\\d{1,9}(\\.\\d{1,9}){0,3}$'
const MAX_RULES = 20

const version = t.String({ pattern: VERSION, error: 'must be a version such as 2.4.0' })
const language = t.String({
  pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$',
  error: 'must be a language such as de or pt-BR',
})
const country = t.String({ pattern: '^[A-Z]{2}$', error: 'must be a country code such as BR' })

/** Every condition must match; a list matches if one of its members does. */
const Condition = closedObject({
  platform: t.Optional(literalUnion(PLATFORMS, { description: 'the platform of the app' })),
  minVersion: t.Optional(version),
  belowVersion: t.Optional(version),
  /** The newest version that matches; `belowVersion` itself does not match. */
  maxVersion: t.Optional(version),
  languages: t.Optional(t.Array(language, { maxItems: 50 })),
  countries: t.Optional(t.Array(country, { maxItems: 250 })),
  plans: t.Optional(t.Array(t.String({ minLength: 1, maxLength: 100 }), { maxItems: 50 })),
  /** A percentage of users, always the same ones. */
  percent: t.Optional(
    t.Number({ minimum: 0, maximum: 100, error: 'must be a number from 0 to 100' }),
  ),
})
export type Condition = Static<typeof Condition>

export type Rule = { when: Condition; value: unknown }

/** Rules in the order in which they are tried. */
export function createRulesSchema<Value extends TSchema>(value: Value) {
  return t.Array(closedObject({ when: Condition, value }), { maxItems: MAX_RULES })
}

export type Audience = {
  platform: string | null
  version: string | null
  /** The user's languages, in order of preference. */
  languages: string[]
  country: string | null
  /** The code of the plan; null if signed out. */
  plan: string | null
  /** The user's id, or else the device's. */
  id: string | null
}

/** The properties of a requester that rules can depend on. */
export type Trait = 'platform' | 'version' | 'language' | 'country' | 'plan' | 'id'
