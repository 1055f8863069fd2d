import { type TSchema, t } from 'elysia'
import {
  closedObject,
  createDataSchema,
  id,
  text,
} from '../../../platform/http/replies/envelope.ts'
import { createSubscriptionReply, SubscriptionQuery } from '../model.ts'

export const serverBillingTags = { Subscriptions: 'what the app’s users have paid for' }

/** In one request. */
const MAX_USERS = 100
const USER_IDS = '01a1fecb-4162-75f8-b13e-d84fd1f88be2,01a1fecb-4163-7e6a-8c52-6b3c6ddc0f11'

export const SubscriptionParams = closedObject({
  userId: text('the `_id` of the user', USER_IDS.slice(0, 36), { maxLength: 100 }),
})

export const SubscriptionsQuery = t.Object({
  userIds: t.String({
    pattern: `^[\\w-]{1,100}(,[\\w-]{1,100}){0,${MAX_USERS - 1}}$`,
    error: `must be 1 to ${MAX_USERS} user ids, separated by commas`,
    description: `the \`_id\` of 1 to ${MAX_USERS} users, separated by commas`,
    examples: [USER_IDS],
  }),
  ...SubscriptionQuery.properties,
})

export function createSubscriptionsReply(planSchema: TSchema) {
  const UserSubscription = closedObject(
    { userId: id('of the user'), subscription: createSubscriptionReply(planSchema) },
    'UserSubscription',
    'a user’s subscription',
  )
  return createDataSchema(
    t.Array(UserSubscription, {
      description: 'in the order of `userIds`; unknown users are absent',
    }),
  )
}
