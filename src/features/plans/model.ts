import type { TString } from '@sinclair/typebox'
import { type Static, type TSchema, t } from 'elysia'
import { inLanguage } from '../../lib/text/local-text.ts'
import { LIMIT_PERIODS, limitsByName } from '../../lib/time/plan-limits.ts'
import { createNegotiator, LocalText } from '../../platform/http/language/local-text.ts'
import {
  closedObject,
  flag,
  id,
  integer,
  literalUnion,
  nullable,
  openEnum,
} from '../../platform/http/replies/envelope.ts'

const text = (description: string, example: string) =>
  t.String({ maxLength: 500, description, examples: [example] })
const count = (description: string, example: number) =>
  integer({ minimum: 0, description, examples: [example] })
const list = <T extends TSchema>(item: T, description: string, example: string[]) =>
  t.Array(item, { maxItems: 200, description, examples: [example] })

const otherProductIds = t.Array(t.String({ maxLength: 500 }), {
  maxItems: 50,
  description: 'additional product ids for this plan, for example in other stores',
  examples: [['com.example.pro.monthly']],
})

const entitlementIds = t.Array(t.String({ minLength: 1, maxLength: 100 }), {
  maxItems: 50,
  description: 'the entitlements that purchases from stores grant; the code of the plan if absent',
  examples: [['pro']],
})

const MAX_CUSTOM_LIMITS = 50
const LIMIT_NAME = '^[A-Za-z][A-Za-z0-9_]{0,63}$'

/** An object with a value for each of at most 50 limits, by limit name. */
const byLimit = <Value extends TSchema>(value: Value, description: string, example: object) =>
  t.Unsafe<Record<string, Static<Value>>>(
    t.Record(t.String({ pattern: LIMIT_NAME }), value, {
      additionalProperties: false,
      maxProperties: MAX_CUSTOM_LIMITS,
      description,
      examples: [example],
    }),
  )

const amount = nullable(integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, format: 'int64' }))
const limitPeriods = <Period extends TSchema>(period: Period) =>
  byLimit(period, 'the periods of the custom limits; `month` if absent', { exports: 'day' })
const period = { description: 'per month, per day, or in total' }

/** The fields of a plan except `_id`; `Text` creates the schemas of texts shown to users. */
const fieldsWith = <Text extends TSchema>(
  Text: (documentation: { description: string; examples?: string[] }) => Text,
) => ({
  code: t.String({
    minLength: 1,
    maxLength: 100,
    description: 'the id of the plan; never change it',
    examples: ['pro_month'],
  }),
  name: Text({ description: 'the name that users see', examples: ['Pro'] }),
  type: text('the kind of plan', 'subscription'),
  duration: text('the billing period: `month`, `3 months`, `P1Y`, `lifetime` and so on', 'month'),
  source: text('where it is sold', 'revenuecat'),
  paymentProductId: text(
    'the product at the store or the billing provider; empty for none',
    'prod_example_pro',
  ),
  paymentPriceId: text(
    'the price at the billing provider; empty for none',
    'price_example_pro_month',
  ),
  trialDays: count('length of the free trial', 7),
  capabilities: list(t.String({ maxLength: 500 }), 'what the plan unlocks', ['trackApp']),
  seatLimit: count('how many users may share it', 5),
  appLimit: count('apps', 10),
  keywordLimit: count('keywords', 500),
  apiRequestLimit: count('API requests per month', 10_000),
  competitorLimitPerApp: count('competitors per app', 5),
  aiMonthlyCreditLimit: count('AI credits per month', 100),
  storefrontLimit: count('storefronts', 20),
  price: t.Number({ minimum: 0, description: 'in `currency`', examples: [9.99] }),
  currency: text('ISO 4217, in upper or lower case; responses have lower case', 'usd'),
  isEnterprise: flag('whether it is sold by the sales team', false),
  description: Text({ description: 'one sentence about it', examples: ['Everything to grow.'] }),
  badge: Text({
    description: 'a short label such as Popular; empty for none',
    examples: ['Popular'],
  }),
  highlighted: flag('whether apps highlight it', false),
  features: list(Text({ description: 'one feature' }), 'what the plan includes, line by line', [
    'Ten apps',
  ]),
})

export const PlanImport = closedObject({
  ...fieldsWith(() => LocalText),
  otherProductIds: t.Optional(otherProductIds),
  entitlementIds: t.Optional(entitlementIds),
  limits: t.Optional(byLimit(amount, 'custom limits; null: unlimited', { exports: 10 })),
  limitPeriods: t.Optional(limitPeriods(literalUnion(LIMIT_PERIODS, period))),
  _id: t.Optional(t.String()),
})
export const PlanImports = t.Array(PlanImport, { maxItems: 500 })
export type PlanImport = Static<typeof PlanImport>
export type Plan = PlanImport & { _id: string }

export const PlanReply = closedObject(
  {
    _id: id('of the plan'),
    ...fieldsWith<TString>((documentation) => t.String(documentation)),
    otherProductIds: t.Optional(otherProductIds),
    entitlementIds: t.Optional(entitlementIds),
    limits: byLimit(amount, 'every limit of the plan by name; null: unlimited', {
      aiMonthlyCreditLimit: 100,
      exports: 10,
    }),
    limitPeriods: t.Optional(limitPeriods(openEnum(LIMIT_PERIODS, period))),
  },
  'PricingPlan',
  'a pricing plan in one language',
)

export const negotiatePlans = createNegotiator((plans: Plan[]) =>
  plans.flatMap(({ name, description, badge, features }) => [
    name,
    description,
    badge,
    ...features,
  ]),
)

export function translatePlans(plans: Plan[], language: string) {
  return plans.map(({ code, ...plan }) => ({
    code,
    ...plan,
    name: inLanguage(plan.name, language),
    description: inLanguage(plan.description, language),
    badge: inLanguage(plan.badge, language),
    features: plan.features.map((text) => inLanguage(text, language)),
    limits: limitsByName(plan),
  }))
}
