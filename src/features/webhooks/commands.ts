import { dataCommand, type Options, parseLimitOption, UsageError } from '../../lib/command.ts'
import { DELIVERY_STATES, type DeliveryFilter } from './deliveries.ts'
import type { Endpoint } from './endpoints.ts'
import type { Webhooks } from './webhooks.ts'

type Needs = { webhooks: Webhooks }

const list = dataCommand({
  name: 'webhooks list',
  summary: 'List the webhook endpoints',
  work: ({ webhooks }: Needs) => webhooks.endpoints.list(),
  print: (endpoints) =>
    endpoints
      .map((one) =>
        [one.id, stateOf(one), one.url, one.events.join(','), one.description].join('\t').trimEnd(),
      )
      .join('\n'),
})

const deliveries = dataCommand({
  name: 'webhooks deliveries',
  summary: 'List webhook deliveries, newest first',
  options: [
    ['--endpoint <id>', 'only to this endpoint'],
    ['--state <state>', `only ${DELIVERY_STATES.join(', ')}`],
    ['--after <cursor>', 'continue after this cursor from the previous output'],
    ['--limit <count>', 'maximum number of results (default: 50)'],
  ],
  input: (_args, options) => readFilter(options),
  work: ({ webhooks }: Needs, filter: DeliveryFilter) => webhooks.deliveries.list(filter),
  print: ({ deliveries: rows, next }) =>
    [
      ...rows.map(({ id, createdAt, type, state, attempts, endpointId, nextAttemptAt }) => {
        const tries = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
        const then = nextAttemptAt === null ? '' : `next ${nextAttemptAt}`
        return [id, createdAt, type, state, tries, endpointId, then].join('\t').trimEnd()
      }),
      ...(next === null ? [] : [`More: --after ${next}`]),
    ].join('\n'),
})

const show = dataCommand({
  name: 'webhooks show',
  summary: 'Show a webhook delivery: its request, and the reply to each attempt',
  arguments: '<delivery>',
  input: ([id = '']) => id,
  work: ({ webhooks }: Needs, id: string) => webhooks.deliveries.show(id),
  print: ({ url, messageId, body, state, log }) =>
    [
      `POST ${url}`,
      `webhook-id: ${messageId}`,
      body,
      `State: ${state}`,
      ...log.map(({ at, duration, status, fault, reply }) =>
        [at, `${duration} ms`, status ?? 'no reply', fault ?? '', JSON.stringify(reply)].join('\t'),
      ),
    ].join('\n'),
})

function readFilter({ endpoint, state, after, limit }: Options): DeliveryFilter {
  const known = DELIVERY_STATES.find((one) => one === state)
  if (state !== undefined && known === undefined)
    throw new UsageError(`--state must be one of ${DELIVERY_STATES.join(', ')}.`)
  return {
    state: known,
    ...(typeof endpoint === 'string' ? { endpoint } : {}),
    ...(typeof after === 'string' ? { after } : {}),
    ...(typeof limit === 'string' ? { limit: parseLimitOption(limit) } : {}),
  }
}

function stateOf({ disabledAt, disabledReason, failingSince }: Endpoint): string {
  if (disabledAt !== null) return `disabled (${disabledReason})`
  return failingSince === null ? 'enabled' : `failing since ${failingSince}`
}

export const webhookCommands = [list, deliveries, show]
