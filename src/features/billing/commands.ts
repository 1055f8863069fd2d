import { dataCommand, type Options, parseLimitOption, prettyJson } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import type { UnmatchedProduct } from './access/plan-matching.ts'
import type { PlanLike, Subscription } from './access/subscription.ts'
import type { Timeline } from './access/timeline.ts'
import type { Environment } from './environment.ts'
import type { EventFolding } from './inbox/event-folding.ts'
import type { EventFilter, EventSearch } from './inbox/event-search.ts'
import type { Rebuild } from './projection/rebuild.ts'
import type { Reconcile } from './provider/reconcile.ts'

type Needs = {
  eventFolding: Pick<EventFolding, 'replay' | 'replayMatching'>
  rebuildBilling: Rebuild
  reconcile: Reconcile | null
  eventSearch: EventSearch
  timeline: Pick<Timeline, 'explain' | 'explainForEvent'>
  subscription: Pick<Subscription<PlanLike>, 'read' | 'isKnown'>
  listUnmatched: () => Promise<UnmatchedProduct[]>
  /** The id of the user with an e-mail address, or null. */
  userIdOf: (email: string) => Promise<string | null>
}

type ListedEvent = {
  eventId: string
  type: string
  receivedAt: string | Date
  appUserId: string | null
  outcome: string
  duplicates: number
}

const FILTER_OPTIONS: [flags: string, meaning: string][] = [
  ['--user <id>', 'only events of this app user id'],
  ['--type <type>', 'only events of this type'],
  ['--failed', 'only failed events'],
  ['--conflicting', 'only events received again with a different body'],
  ['--clock-off', 'only events with an implausible time'],
  ['--sandbox', 'only test purchases'],
]

const eventsList = dataCommand({
  name: 'events list',
  summary: 'List billing events, newest first',
  options: [...FILTER_OPTIONS, ['--limit <count>', 'maximum number of results (default: 50)']],
  input: (_args, options) => ({
    ...readFilter(options),
    ...(typeof options['limit'] === 'string' ? { limit: parseLimitOption(options['limit']) } : {}),
  }),
  work: async ({ eventSearch }: Needs, filter: EventFilter) => {
    const { events } = await eventSearch.find({
      ...filter,
      maxScanned: Number.POSITIVE_INFINITY,
    })
    return events.map(({ id: _row, ...event }): ListedEvent => event)
  },
  print: (events) =>
    events
      .map(({ receivedAt, type, eventId, appUserId, outcome, duplicates }) =>
        [receivedAt, type, eventId, appUserId ?? '-', outcome, `+${duplicates}`].join('\t'),
      )
      .join('\n'),
})

const eventsShow = dataCommand({
  name: 'events show',
  summary: 'Show a billing event with its body',
  arguments: '<id>',
  input: ([id = '']) => id,
  work: async ({ eventSearch, timeline }: Needs, id: string) => {
    const event = await eventSearch.show(id)
    if (!event) throw new AppError('not_found', `There is no event ${id}.`)
    const access = await timeline.explainForEvent(event)
    return { ...event, ...(access === null ? {} : { access }) }
  },
  print: ({ body, ...event }) => `${prettyJson(event)}\n${body}`,
})

const eventsReplay = dataCommand({
  name: 'events replay',
  summary: 'Process a billing event again',
  arguments: '<id>',
  input: ([id = '']) => id,
  work: async ({ eventFolding }: Needs, id: string) => {
    const outcome = await eventFolding.replay(id)
    if (outcome === null) throw new AppError('not_found', `There is no event ${id}.`)
    if (!outcome)
      throw new AppError(
        'conflict',
        `The event ${id} failed again. "events show ${id}" shows the error.`,
      )
    return { replayed: id }
  },
  print: ({ replayed }) => `Processed ${replayed} again.`,
  changes: ({ replayed }) => ({ eventId: replayed }),
  target: ({ replayed }) => replayed,
})

const eventsRetry = dataCommand({
  name: 'events retry',
  summary: 'Process all matching events again, for example with --failed; dismiss unreadable ones',
  options: FILTER_OPTIONS,
  input: (_args, options) => readFilter(options),
  work: ({ eventFolding }: Needs, filter: EventFilter) =>
    eventFolding.replayMatching(filter, () => {}, new AbortController().signal),
  print: ({ done, failed }) =>
    `Processed ${done} events again, ${failed === 0 ? 'none' : failed} failed.`,
  // The audit log must not keep the id of a deleted user.
  changes: (outcome, { user, ...filter }) => ({
    ...filter,
    ...(user === undefined ? {} : { user: '[search text]' }),
    ...outcome,
  }),
})

const eventsRebuild = dataCommand({
  name: 'events rebuild',
  summary: 'Rebuild all purchases from the event log and list differences; there should be none',
  work: ({ rebuildBilling }: Needs) => rebuildBilling(new AbortController().signal),
  print: ({ events, lines, changed, seconds }) =>
    [
      `${events} events, ${lines} purchases in ${seconds} s (${Math.round(events / Math.max(seconds, 0.001))} events a second).`,
      changed.length === 0 ? 'Nothing changed.' : `Changed: ${changed.join(', ')}`,
    ].join('\n'),
  changes: ({ events, changed }) => ({ events, changedLines: changed.length }),
})

const eventsReconcile = dataCommand({
  name: 'events reconcile',
  summary: 'Refresh ended purchases from RevenueCat, in case events were missed (needs RC_API_KEY)',
  options: [['--user <id>', 'only this app user id']],
  input: (_args, { user }) => (typeof user === 'string' ? { user } : {}),
  work: async ({ reconcile }: Needs, { user }: { user?: string }) => {
    if (reconcile === null)
      throw new AppError('unavailable', 'Set RC_API_KEY to refresh purchases from RevenueCat.')
    const signal = AbortSignal.timeout(9 * MINUTE_MS)
    return user === undefined
      ? reconcile.reconcileOverdue(signal)
      : reconcile.reconcileUser(user, signal)
  },
  print: ({ customers, corrected, failed, isIncomplete }) =>
    [
      `Checked ${customers} customers: ${corrected.length} purchases corrected, ${failed.length} customers failed.`,
      ...corrected,
      ...(isIncomplete
        ? ['Not all customers are checked yet: repeat the command to continue.']
        : []),
    ].join('\n'),
  changes: ({ customers, corrected }) => ({ customers, corrected }),
})

const userSubscription = dataCommand({
  name: 'users subscription',
  summary: 'Show what a user has paid for',
  arguments: '<id-or-email>',
  options: [['--sandbox', 'test purchases instead of production']],
  input: ([id = ''], { sandbox }) =>
    ({ id, environment: sandbox ? 'sandbox' : 'production' }) as const,
  work: async (
    { subscription, timeline, userIdOf }: Needs,
    { id: idOrEmail, environment }: { id: string; environment: Environment },
  ) => {
    const id = (await userIdOf(idOrEmail)) ?? idOrEmail
    if (!(await subscription.isKnown(id))) {
      throw new AppError('not_found', `There is no user ${id}, and no billing event names that id.`)
    }
    const access = await timeline.explain(id, environment)
    return { access, ...(await subscription.read(id, environment, ['en'])).subscription }
  },
  print: prettyJson,
})

const plansUnmatched = dataCommand({
  name: 'plans unmatched',
  summary: 'List paid products that no plan includes',
  work: ({ listUnmatched }: Needs) => listUnmatched(),
  print: (products) =>
    products.length === 0
      ? 'Every paid product belongs to a plan.'
      : products
          .map(({ productId, priceId, entitlementIds, lines, customerId }) =>
            [productId ?? '-', priceId ?? '-', entitlementIds, lines, customerId].join('\t'),
          )
          .join('\n'),
})

function readFilter({ user, type, failed, conflicting, clockOff, sandbox }: Options): EventFilter {
  return {
    ...(typeof user === 'string' ? { user } : {}),
    ...(typeof type === 'string' ? { type } : {}),
    ...(failed ? { outcome: 'failed' } : {}),
    ...(conflicting ? { conflicting: true } : {}),
    ...(clockOff ? { clockIsOff: true } : {}),
    ...(sandbox ? { environment: 'sandbox' } : {}),
  }
}

export const billingCommands = [
  plansUnmatched,
  eventsList,
  eventsShow,
  eventsReplay,
  eventsRetry,
  eventsRebuild,
  eventsReconcile,
  userSubscription,
]
