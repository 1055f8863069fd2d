import type { Static, TSchema } from 'elysia'
import {
  AttachmentDetails,
  AttachmentRecord,
  attachmentExport,
  ListedAttachment,
} from '../features/attachments/model.ts'
import { billingExport, createSubscriptionReply } from '../features/billing/model.ts'
import { changesExport } from '../features/changes/model.ts'
import { ContentVersions, FaqReply } from '../features/content/model.ts'
import { DataReply, dataExport } from '../features/data/model.ts'
import { PlanReply } from '../features/plans/model.ts'
import { RatesReply } from '../features/rates/model.ts'
import { AppSettingsReply } from '../features/settings/model.ts'
import {
  AppStorePurchase,
  createSubmissionReply,
  PlayStorePurchase,
  PurchaseSubmission,
} from '../features/stores/model.ts'
import { UsageReply, usageExport } from '../features/usage/model.ts'
import { userExport } from '../features/users/accounts/model.ts'
import {
  DevicesReply,
  EmailCodeAnswerBody,
  EmailCodeReply,
  LoginBody,
  RecoveryCodesReply,
  RegisterBody,
  SessionReply,
  SocialBody,
  TwoFactorChallenge,
  TwoFactorReply,
} from '../features/users/model.ts'
import { CreationOptions, PasskeyReply, RequestOptions } from '../features/users/passkeys/model.ts'
import { DeletionReply, ProfilePatch, UserProfile } from '../features/users/profile/model.ts'
import { PasskeyAssertion, PasskeyAttestation } from '../platform/http/passkey-models.ts'
import { closedObject } from '../platform/http/replies/envelope.ts'

const Subscription = createSubscriptionReply(PlanReply)
const SubmittedPurchases = createSubmissionReply(Subscription)
const { passkeys, ...accountExport } = userExport

/** The models of the client package, by the names that apps import. `src/client/models.ts` declares their types. */
export const clientModels = {
  AccountExport: partOfExport(accountExport, 'the account'),
  ActiveSubscription: DeletionReply.properties.activeSubscriptions.items,
  AppSettings: AppSettingsReply,
  AppStorePurchase,
  AppVersions: AppSettingsReply.properties.ios,
  Attachment: AttachmentRecord,
  AttachmentDetails,
  AttachmentExport: partOfExport(attachmentExport, 'the files'),
  BillingExport: partOfExport(
    { subscription: Subscription, sandboxSubscription: Subscription, ...billingExport },
    'the purchases',
  ),
  ChangesExport: partOfExport(changesExport, 'the latest change of each kind'),
  ContentVersions,
  Credentials: withDescription(LoginBody, 'e-mail address and password for a sign-in'),
  CurrencyRates: RatesReply,
  DataExport: partOfExport(dataExport, 'the documents'),
  Device: DevicesReply.items,
  EmailCodeAnswer: withDescription(EmailCodeAnswerBody, 'the code that the user has entered'),
  EmailCodeRequest: EmailCodeReply,
  Entitlement: Subscription.properties.entitlements.items,
  Faq: FaqReply,
  LimitUsage: UsageReply.properties.response.items,
  ListedAttachment,
  NewAccount: withDescription(RegisterBody, 'the data for a new account'),
  Passkey: PasskeyReply,
  PasskeyAssertion,
  PasskeyAttestation,
  PasskeyCreationOptions: CreationOptions,
  PasskeyExport: partOfExport({ passkeys }, 'the passkeys'),
  PasskeyRequestOptions: RequestOptions,
  PlanLimits: Subscription.properties.limits.anyOf[0],
  PlayStorePurchase,
  PricingPlan: PlanReply,
  ProfileChanges: withDescription(ProfilePatch, 'absent fields stay; null restores the default'),
  PurchaseResult: SubmittedPurchases.properties.results.items,
  RecoveryCodes: RecoveryCodesReply,
  Session: SessionReply,
  SocialLogin: withDescription(SocialBody, 'the data for a sign-in with an identity provider'),
  SubmittedPurchase: PurchaseSubmission.properties.purchases.items,
  SubmittedPurchases,
  Subscription,
  SubscriptionLine: Subscription.properties.subscriptions.items,
  TwoFactorChallenge,
  TwoFactorSetup: TwoFactorReply,
  UsageExport: partOfExport(usageExport, 'what the user has used'),
  UserData: DataReply,
  UserProfile,
}

export type ClientModels = {
  [Name in keyof typeof clientModels]: Static<(typeof clientModels)[Name]>
}

/** A body, which has no title in the document: each operation names its own. */
function withDescription<T extends TSchema>(body: T, description: string): T {
  return { ...body, description }
}

function partOfExport<T extends Record<string, TSchema>>(members: T, name: string) {
  return withDescription(closedObject(members), `${name}, as part of a data export`)
}
