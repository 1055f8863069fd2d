import { type Static, type TSchema, t } from 'elysia'
import { strict } from '../../http/envelope.ts'
import { createNegotiator, LocalText } from '../../http/local-text.ts'
import { inLanguage } from '../../lib/local-text.ts'

const text = t.String({ maxLength: 500 })
const count = t.Integer({ minimum: 0 })

const productIds = t.Array(text, { maxItems: 50 })

/** All that a plan says but its `_id`; texts of the shop window are `Text`. */
const fieldsWith = <Text extends TSchema>(Text: Text) => ({
  code: t.String({ minLength: 1, maxLength: 100 }),
  name: Text,
  type: text,
  duration: text,
  source: text,
  paymentProductId: text,
  paymentPriceId: text,
  trialDays: count,
  capabilities: t.Array(text, { maxItems: 200 }),
  seatLimit: count,
  appLimit: count,
  keywordLimit: count,
  apiRequestLimit: count,
  competitorLimitPerApp: count,
  aiMonthlyCreditLimit: count,
  storefrontLimit: count,
  price: t.Number({ minimum: 0 }),
  currency: text,
  isEnterprise: t.Boolean(),
  description: Text,
  badge: Text,
  highlighted: t.Boolean(),
  features: t.Array(Text, { maxItems: 200 }),
})

/** A plan as `plans import` takes it and as it is kept. */
export const PlanImport = strict({
  ...fieldsWith(LocalText),
  otherProductIds: t.Optional(productIds),
  _id: t.Optional(t.String()),
})
export const PlanImports = t.Array(PlanImport, { maxItems: 500 })
export type PlanImport = Static<typeof PlanImport>
export type Plan = PlanImport & { _id: string }

/** A plan in one language. */
export const PlanReply = strict(
  { _id: t.String(), ...fieldsWith(t.String()), otherProductIds: t.Optional(productIds) },
  'PricingPlan',
)

/** The language of the plans that suits best. */
export const negotiatePlans = createNegotiator((list: Plan[]) =>
  list.flatMap(({ name, description, badge, features }) => [name, description, badge, ...features]),
)

/** Plans with their texts in one language. */
export function translatePlans(list: Plan[], language: string) {
  return list.map(({ code, ...plan }) => ({
    code,
    ...plan,
    name: inLanguage(plan.name, language),
    description: inLanguage(plan.description, language),
    badge: inLanguage(plan.badge, language),
    features: plan.features.map((text) => inLanguage(text, language)),
  }))
}
