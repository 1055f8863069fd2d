import { t } from 'elysia'
import type { Options } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import { defineAction } from '../../platform/actions/action.ts'
import { closedObject, literalUnion } from '../../platform/http/replies/envelope.ts'
import { withoutSearchTexts } from '../../platform/lists/csv.ts'
import { ENVIRONMENTS } from './environment.ts'
import type { EventFolding } from './inbox/event-folding.ts'
import type { EventSearch } from './inbox/event-search.ts'
import type { Rebuild } from './projection/rebuild.ts'
import { NO_PROVIDER_KEY, type Reconcile } from './provider/reconcile.ts'

const OUTCOMES = ['applied', 'ignored', 'failed'] as const
const flag = t.Optional(t.Literal('true'))

/** Selects events: the query of the console's list, and the body of a replay. */
export const EventQuery = closedObject({
  type: t.Optional(t.String({ maxLength: 255 })),
  outcome: t.Optional(
    literalUnion(OUTCOMES, { description: 'the outcome of processing the event' }),
  ),
  environment: t.Optional(
    literalUnion(ENVIRONMENTS, { description: 'production or test purchases' }),
  ),
  user: t.Optional(t.String({ maxLength: 255 })),
  conflicting: flag,
  clockIsOff: flag,
})

export const EVENT_OPTIONS: [flags: string, meaning: string][] = [
  ['--user <id>', 'only events of this app user id'],
  ['--type <type>', 'only events of this type'],
  ['--failed', 'only failed events'],
  ['--conflicting', 'only events received again with a different body'],
  ['--clock-off', 'only events with an implausible time'],
  ['--sandbox', 'only test purchases'],
]

const replay = defineAction({
  name: 'events.replay',
  summary: 'Process a billing event again',
  label: 'Replayed event',
  role: 'operator',
  input: closedObject({ id: t.String({ maxLength: 300 }) }),
  console: 'events/:id/replay',
  form: { verb: 'Replay event', done: 'Replayed' },
  work: async ({ eventFolding, eventSearch }: Replaying, { id }) => {
    const before = await eventSearch.show(id)
    await eventFolding.replay(id)
    const { outcome, error } = await eventSearch.show(id)
    return { id, before: before.outcome, outcome, error }
  },
  audit: ({ id, before, outcome }) => ({
    target: id,
    before: { outcome: before },
    after: { outcome },
  }),
  show: ({ outcome, error }) => ({ outcome, error }),
  command: {
    arguments: { id: '<id>' },
    report: ({ id, outcome }) => {
      if (outcome !== 'failed') return { replayed: id }
      throw new AppError(
        'conflict',
        `The event ${id} failed again. "events show ${id}" shows the error.`,
      )
    },
    print: ({ replayed }) => `Processed ${replayed} again.`,
  },
})

const replayMatching = defineAction({
  name: 'events.replay-matching',
  summary: 'Process all matching events again, for example with --failed; dismiss unreadable ones',
  label: 'Replayed events',
  role: 'operator',
  input: EventQuery,
  console: 'events/replay',
  hasProgress: true,
  work: ({ eventFolding }: Replaying, query, { onProgress, signal }) =>
    eventFolding.replayMatching(toEventFilter(query), onProgress, signal),
  // The audit log must not keep the id of a deleted user.
  audit: (outcome, query) => ({ after: { ...withoutSearchTexts(query), ...outcome } }),
  command: {
    options: EVENT_OPTIONS,
    read: (_args, options) => readEventQuery(options),
    print: ({ done, failed }) =>
      `Processed ${done} events again, ${failed === 0 ? 'none' : failed} failed.`,
  },
})

const rebuild = defineAction({
  name: 'events.rebuild',
  summary: 'Rebuild all purchases from the event log and list differences; there should be none',
  label: 'Rebuilt purchases from events',
  role: 'operator',
  input: closedObject({}),
  console: null,
  work: ({ rebuildBilling }: { rebuildBilling: Rebuild }, _input, { signal }) =>
    rebuildBilling(signal),
  audit: ({ events, changed }) => ({ after: { events, changedLines: changed.length } }),
  command: {
    print: ({ events, lines, changed, seconds }) =>
      [
        `${events} events, ${lines} purchases in ${seconds} s (${Math.round(events / Math.max(seconds, 0.001))} events a second).`,
        changed.length === 0 ? 'Nothing changed.' : `Changed: ${changed.join(', ')}`,
      ].join('\n'),
  },
})

const refreshPurchases = defineAction({
  name: 'users.refresh-purchases',
  summary: 'Refresh ended purchases from RevenueCat, in case events were missed (needs RC_API_KEY)',
  label: 'Refreshed purchases of',
  role: 'operator',
  input: closedObject({ id: t.Optional(t.String({ maxLength: 300 })) }),
  console: 'people/:id/reconcile',
  form: { verb: 'Refresh from RevenueCat' },
  work: async ({ reconcile }: { reconcile: Reconcile | null }, { id }) => {
    if (reconcile === null) throw new AppError('unavailable', NO_PROVIDER_KEY)
    return id === undefined
      ? reconcile.reconcileOverdue(AbortSignal.timeout(9 * MINUTE_MS))
      : reconcile.reconcileUser(id, AbortSignal.timeout(MINUTE_MS))
  },
  audit: ({ customers, corrected, failed }, { id }) => ({
    ...(id !== undefined && { target: id }),
    after: { customers, corrected: corrected.length, failed: failed.length },
  }),
  command: {
    options: [['--user <id>', 'only this app user id']],
    read: (_args, { user }) => (typeof user === 'string' ? { id: user } : {}),
    print: ({ customers, corrected, failed, isIncomplete }) =>
      [
        `Checked ${customers} customers: ${corrected.length} purchases corrected, ${failed.length} customers failed.`,
        ...corrected,
        ...(isIncomplete
          ? ['Not all customers are checked yet: repeat the command to continue.']
          : []),
      ].join('\n'),
  },
})

type Replaying = {
  eventFolding: Pick<EventFolding, 'replay' | 'replayMatching'>
  eventSearch: Pick<EventSearch, 'show'>
}

export function toEventFilter<T extends { conflicting?: 'true'; clockIsOff?: 'true' }>({
  conflicting,
  clockIsOff,
  ...rest
}: T) {
  return { ...rest, conflicting: conflicting === 'true', clockIsOff: clockIsOff === 'true' }
}

/** Builds the query from a command's `EVENT_OPTIONS`. */
export function readEventQuery(options: Options): typeof EventQuery.static {
  const { user, type, failed, conflicting, clockOff, sandbox } = options
  return {
    ...(typeof user === 'string' ? { user } : {}),
    ...(typeof type === 'string' ? { type } : {}),
    ...(failed ? { outcome: 'failed' } : {}),
    ...(conflicting ? { conflicting: 'true' } : {}),
    ...(clockOff ? { clockIsOff: 'true' } : {}),
    ...(sandbox ? { environment: 'sandbox' } : {}),
  }
}

export const billingActions = [replay, replayMatching, rebuild, refreshPurchases]
