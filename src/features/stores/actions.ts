import { t } from 'elysia'
import { defineAction } from '../../platform/actions/action.ts'
import { closedObject, literalUnion, time } from '../../platform/http/replies/envelope.ts'
import { ENVIRONMENTS, storedEnvironment } from '../billing/environment.ts'
import { formatChecks, hasProblem } from './checks/store-check.ts'
import { requireKey, throwAsReply } from './purchases/links.ts'
import type { Stores } from './stores.ts'

const test = defineAction({
  name: 'stores.test',
  summary: 'Make Apple send a test notification, and wait for it',
  label: 'Requested a test notification',
  role: 'operator',
  input: closedObject({
    environment: literalUnion(ENVIRONMENTS, { description: 'production or the sandbox' }),
  }),
  console: 'stores/test',
  work: ({ stores }: { stores: Pick<Stores, 'status'> }, { environment }) =>
    stores.status.test(storedEnvironment(environment)),
  audit: (_results, { environment }) => ({
    after: { environment: storedEnvironment(environment) },
  }),
  command: {
    options: [['--sandbox', 'the sandbox instead of production']],
    read: (_args, { sandbox }) => ({ environment: sandbox ? 'sandbox' : 'production' }) as const,
    print: formatChecks,
    isFailure: hasProblem,
  },
})

const catchUp = defineAction({
  name: 'stores.catch-up',
  summary:
    'Record the changes that lost notifications would have reported, from the stores’ histories',
  label: 'Caught up with the stores',
  role: 'operator',
  input: closedObject({
    since: t.Optional(time('from an earlier time, ISO 8601 (default: where the last run ended)')),
    sandbox: t.Optional(t.Boolean({ description: 'the sandbox instead of production' })),
    all: t.Optional(
      t.Boolean({ description: 'every subscription at Stripe, whenever it was sold' }),
    ),
  }),
  console: null,
  async work(
    { stores }: { stores: Pick<Stores, 'apps' | 'history' | 'play' | 'stripe'> },
    { since, sandbox = false, all = false },
    { signal },
  ) {
    const { apps, history, play, stripe } = stores
    const environment = storedEnvironment(sandbox ? 'sandbox' : 'production')
    const catchUpStripe = all ? stripe?.catchUpAll : stripe?.catchUp
    const queued = (await catchUpStripe?.(environment, signal).catch(throwAsReply)) ?? null
    const refunds = play === null ? null : await play.voided.catchUp(signal).catch(throwAsReply)
    const isWithoutApple = (play ?? stripe) !== null && apps.length === 0
    const caughtUp = isWithoutApple
      ? { read: 0, added: 0, refused: 0 }
      : await requireKey(history)
          .catchUp(environment, {
            signal,
            ...(since === undefined ? {} : { since: new Date(since) }),
          })
          .catch(throwAsReply)
    return { ...caughtUp, refunds, queued }
  },
  audit: (outcome) => ({ after: outcome }),
  command: {
    print: ({ read, added, refused, refunds, queued }) =>
      [
        ...(read === 0 && (refunds ?? queued) !== null
          ? []
          : [
              `Read ${read} notifications: ${added} were missing${refused === 0 ? '' : `, ${refused} refused`}.`,
            ]),
        ...(refunds === null ? [] : [`Google lists ${refunds} refunds.`]),
        ...(queued === null ? [] : [`Stripe lists ${queued} updates; the server reads them.`]),
      ].join('\n'),
  },
})

export const storeActions = [test, catchUp]
