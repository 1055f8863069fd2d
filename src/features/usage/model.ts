import { t } from 'elysia'
import { LIMIT_PERIODS } from '../../lib/time/plan-limits.ts'
import {
  closedObject,
  createDataSchema,
  flag,
  integer,
  nullable,
  openEnum,
  text,
  time,
} from '../../platform/http/replies/envelope.ts'

export const usageTags = { Usage: 'What the signed-in user has used of the plan’s limits' }
export const serverUsageTags = { Usage: 'what users have used of their plans’ limits' }

const limitName = t.String({
  maxLength: 64,
  description: 'the name of a limit of a plan, such as `aiMonthlyCreditLimit`',
  examples: ['aiMonthlyCreditLimit'],
})
const userId = text('the `_id` of the user', '01a1fecb-4162-75f8-b13e-d84fd1f88be2', {
  maxLength: 100,
})

const state = {
  used: integer({ format: 'int64', description: 'used in the current period', examples: [40] }),
  limit: nullable(
    integer({ format: 'int64', description: 'null: unlimited', examples: [100] }),
    'the limit of the plan; null: unlimited',
  ),
  remaining: nullable(
    integer({ format: 'int64', description: 'null: unlimited', examples: [60] }),
    'what is left; null: unlimited',
  ),
  resetsAt: nullable(time('when the next period begins; null: never')),
}

export const UsageReply = createDataSchema(
  t.Array(
    closedObject(
      {
        name: limitName,
        period: openEnum(LIMIT_PERIODS, { description: 'the period that the limit is for' }),
        ...state,
      },
      'LimitUsage',
      'what a user has used of a limit',
    ),
    { description: 'every limit of the plan' },
  ),
)

export const UsageQuery = closedObject({ userId })

const MAX_AMOUNT = 1_000_000_000

export const ConsumptionRequest = closedObject({
  userId,
  limit: limitName,
  amount: integer({
    minimum: -MAX_AMOUNT,
    maximum: MAX_AMOUNT,
    description: 'how much to use; negative to give back',
    examples: [1],
  }),
  idempotencyKey: t.Optional(
    t.String({
      pattern: '^[!-~]{1,100}$',
      error: 'must be 1 to 100 ASCII characters without spaces',
      description:
        'identifies one use: a retry with the same key within 24 hours gets the first outcome',
      examples: ['5f0c6d3e-3c2b-4c8e-9a75-1d1f5f0a8c11'],
    }),
  ),
  dryRun: t.Optional(flag('only checks the limit; records no usage', false)),
})

export const ConsumptionReply = createDataSchema(
  closedObject(
    {
      allowed: flag('whether the limit allows the amount; if false, nothing was counted'),
      ...state,
      repeated: flag(
        'true if this repeats the response to an earlier request with the same `idempotencyKey`; do not deliver again',
        false,
      ),
    },
    'UsageOutcome',
    'the outcome of a use',
  ),
)

export const usageExport = {
  usage: t.Array(
    closedObject(
      {
        name: limitName,
        since: text('a month, or the first day of the last period', '2026-07'),
        used: state.used,
      },
      'ExportedUsage',
      'what the user has used of a limit',
    ),
    { description: 'what the user has used of the limits, by month' },
  ),
}

export const MostUsedQuery = closedObject({ limit: t.Optional(t.String({ maxLength: 64 })) })
export const UserIdParam = closedObject({ id: t.String({ maxLength: 100 }) })
