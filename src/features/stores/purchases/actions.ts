import { t } from 'elysia'
import { type Options, prettyJson, UsageError } from '../../../lib/command.ts'
import { defineAction } from '../../../platform/actions/action.ts'
import { readInput } from '../../../platform/actions/command-line.ts'
import { closedObject, literalUnion, nullable } from '../../../platform/http/replies/envelope.ts'
import { ENVIRONMENTS } from '../../billing/environment.ts'
import { MAX_REASON_LENGTH, REASON_FIELD } from '../../billing/inbox/attribution.ts'
import type { Consumption } from '../apple/app-store.ts'
import type { Stores } from '../stores.ts'

type Needs = {
  stores: Pick<Stores, 'purchaseSearch' | 'actions' | 'withOwners'>
  findIdByEmail: (email: string) => Promise<string | null>
}

const PREFERENCES = { decline: 'DECLINE', grant: 'GRANT_FULL', 'grant-prorated': 'GRANT_PRORATED' }

/** `id`: of any of the purchase's transactions, or the order number on the receipt. */
const Purchase = { id: t.String({ maxLength: 300 }) }
const reason = t.String({ maxLength: MAX_REASON_LENGTH, field: REASON_FIELD })
const REASON_OPTION: [string, string] = ['--reason <text>', 'why, for the purchase’s history']
const RefundAnswer = closedObject({
  ...Purchase,
  consented: t.Literal(true, {
    description: 'the customer has agreed that you tell Apple (required)',
  }),
  undelivered: t.Optional(
    t.Boolean({ description: 'the customer did not get what they paid for' }),
  ),
  prefer: t.Optional(
    literalUnion(['decline', 'grant', 'grant-prorated'], {
      description: 'the outcome that you prefer: decline, grant or grant-prorated',
    }),
  ),
})

const refresh = defineAction({
  name: 'purchases.refresh',
  summary: 'Refresh a purchase from its store now',
  label: 'Refreshed purchase',
  role: 'operator',
  input: closedObject(Purchase),
  console: 'purchases/:id/ask',
  form: { verb: 'Refresh from the store' },
  work: ({ stores }: Needs, { id }) => stores.actions.refresh(id),
  audit: (purchases, { id }) => ({
    target: id,
    after: { statuses: purchases.map(({ status }) => status) },
  }),
  show: (purchases, { stores }) => stores.withOwners(purchases),
  command: { arguments: { id: '<transaction-or-order>' }, print: prettyJson },
})

const link = defineAction({
  name: 'purchases.link',
  summary: 'Link a purchase to a user, or move it, whatever PURCHASE_TRANSFER says',
  label: 'Linked purchase',
  role: 'operator',
  proof: 'stepUp',
  input: closedObject({
    ...Purchase,
    user: t.String({ maxLength: 320, field: { label: 'User id or e-mail' } }),
    /** A transaction can be in both environments. */
    environment: t.Optional(literalUnion(ENVIRONMENTS, { description: 'both by default' })),
    reason,
  }),
  console: 'purchases/:id/give',
  form: { verb: 'Link to a user', done: 'The purchase belongs to the user that you entered' },
  async work({ stores, findIdByEmail }: Needs, { id, user, environment, reason }, { caller }) {
    const userId = (await findIdByEmail(user)) ?? user
    const [before] = await stores.purchaseSearch.findOrThrow(id, environment)
    await stores.actions.link(id, userId, { by: caller.name, reason }, environment)
    const purchases = await stores.purchaseSearch.findOrThrow(id)
    return { userId, before: before?.userId ?? null, purchases }
  },
  audit: ({ userId, before }, { id }) => ({
    target: id,
    before: { userId: before },
    after: { userId },
  }),
  show: ({ purchases }, { stores }) => stores.withOwners(purchases),
  command: {
    arguments: { id: '<transaction-or-order>', user: '<id-or-email>' },
    options: [REASON_OPTION],
    read: ([id = '', user = ''], options) => ({ id, user, reason: readReason(options) }),
    print: ({ userId, purchases }) =>
      `${purchases.map(({ transactionId }) => transactionId).join(', ')} now belongs to ${userId}.`,
  },
})

const unlink = defineAction({
  name: 'purchases.unlink',
  summary: 'Undo the latest "purchases link"',
  label: 'Undid the link of purchase',
  role: 'operator',
  proof: 'stepUp',
  input: closedObject({
    ...Purchase,
    /** The id of the link to undo; null: the latest. */
    link: nullable(t.String({ maxLength: 400 })),
    reason,
  }),
  console: 'purchases/:id/take-back',
  form: {
    verb: 'Undo link',
    consequence:
      'The user who has the purchase now loses it immediately. The audit log keeps the link.',
    done: 'Link undone',
  },
  async work({ stores }: Needs, { id, link, reason }, { caller }) {
    const [before] = await stores.purchaseSearch.find(id)
    await stores.actions.unlink(id, { by: caller.name, reason }, link ?? undefined)
    return { before: before?.userId ?? null, purchases: await stores.purchaseSearch.find(id) }
  },
  audit: ({ before, purchases }, { id }) => ({
    target: id,
    before: { userId: before },
    after: { userId: purchases[0]?.userId ?? null },
  }),
  show: ({ purchases }, { stores }) => stores.withOwners(purchases),
  command: {
    arguments: { id: '<transaction-or-order>' },
    options: [REASON_OPTION],
    read: ([id = ''], options) => ({ id, link: null, reason: readReason(options) }),
    report: ({ purchases }) => purchases,
    print: (purchases) =>
      purchases
        .map(
          ({ transactionId, userId }) => `${transactionId} now belongs to ${userId ?? 'no user'}.`,
        )
        .join('\n'),
  },
})

const answerRefund = defineAction({
  name: 'purchases.answer-refund',
  summary: 'Tell Apple how a purchase was used, within 12 hours of a CONSUMPTION_REQUEST event',
  label: 'Answered the refund request for purchase',
  role: 'operator',
  input: RefundAnswer,
  console: null,
  work: async ({ stores }: Needs, answer) => ({
    transactions: await stores.actions.answerRefund(answer.id, toConsumption(answer)),
  }),
  audit: (_outcome, answer) => ({ target: answer.id, after: toConsumption(answer) }),
  command: {
    arguments: { id: '<transaction>' },
    read: (args, options) => {
      if (options['consented']) return readInput(RefundAnswer, ['id'], args, options)
      throw new UsageError('Apple requires the consent of the customer: --consented.')
    },
    print: ({ transactions }) => `Apple has received the answer about ${transactions.join(', ')}.`,
  },
})

const cancel = defineAction({
  name: 'purchases.cancel',
  summary: 'Cancel a subscription that was sold by card, at the end of its period',
  label: 'Cancelled subscription',
  role: 'operator',
  proof: 'stepUp',
  input: closedObject({
    ...Purchase,
    now: t.Optional(t.Boolean({ description: 'end it now, without a refund' })),
    reason,
  }),
  console: 'purchases/:id/cancel',
  form: {
    verb: 'Cancel subscription',
    consequence: 'The subscription does not renew.',
    done: 'Subscription cancelled',
  },
  work: ({ stores }: Needs, { id, now = false }) => stores.actions.cancel(id, now),
  audit: (purchases, { id, now = false, reason }) => ({
    target: id,
    after: { statuses: purchases.map(({ status }) => status), now, reason },
  }),
  show: (purchases, { stores }) => stores.withOwners(purchases),
  command: {
    arguments: { id: '<subscription-or-invoice>' },
    options: [['--now', 'end it now, without a refund'], REASON_OPTION],
    read: ([id = ''], options) => ({
      id,
      now: options['now'] === true,
      reason: readReason(options),
    }),
    print: (purchases) =>
      purchases.map(({ transactionId, status }) => `${transactionId}: ${status}`).join('\n'),
  },
})

function toConsumption({ undelivered, prefer }: typeof RefundAnswer.static): Consumption {
  return {
    customerConsented: true,
    deliveryStatus: undelivered ? 'UNDELIVERED_OTHER' : 'DELIVERED',
    sampleContentProvided: false,
    ...(prefer && { refundPreference: PREFERENCES[prefer] }),
  }
}

function readReason({ reason = 'no reason given' }: Options): string {
  return String(reason)
}

export const purchaseActions = [refresh, link, unlink, answerRefund, cancel]
