import type { Static } from 'elysia'
import { billingExport, SubscriptionReplyOf } from '../features/billing/model.ts'
import { PlanReply } from '../features/plans/model.ts'
import { SubmissionReplyOf } from '../features/stores/model.ts'
import { partOfExport } from '../platform/http/replies/envelope.ts'
import { declaredClientModels } from './declarations.ts'

const Subscription = SubscriptionReplyOf(PlanReply)
const SubmittedPurchases = SubmissionReplyOf(Subscription)

/** The models of the client package: those that features declare, and those with models of several features. */
export const clientModels = {
  ...declaredClientModels,
  BillingExport: partOfExport(
    { subscription: Subscription, sandboxSubscription: Subscription, ...billingExport },
    'the purchases',
  ),
  Entitlement: Subscription.properties.entitlements.items,
  PlanLimits: Subscription.properties.limits.anyOf[0],
  PurchaseResult: SubmittedPurchases.properties.results.items,
  SubmittedPurchases,
  Subscription,
  SubscriptionLine: Subscription.properties.subscriptions.items,
}

export type ClientModels = {
  [Name in keyof typeof clientModels]: Static<(typeof clientModels)[Name]>
}
