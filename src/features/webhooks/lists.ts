import { t } from 'elysia'
import { dataCommand } from '../../lib/command.ts'
import { closedObject, literalUnion } from '../../platform/http/replies/envelope.ts'
import { after, defineList } from '../../platform/lists/list.ts'
import { DELIVERY_ORDERS, DELIVERY_STATES } from './deliveries.ts'
import { type Endpoint, hideQuery } from './endpoints.ts'
import { EVENT_TYPES } from './events.ts'
import type { Webhooks } from './webhooks.ts'

type Needs = { webhooks: Webhooks }

const endpoints = defineList({
  name: 'webhooks',
  summary: 'List the webhook endpoints',
  console: 'webhooks',
  query: closedObject({}),
  read: async ({ webhooks }: Needs, _query, { reader }) => {
    const list = await webhooks.endpoints.list()
    return reader === 'command' ? list : list.map(hideQuery)
  },
  rows: (list) => list,
  show: (list) => ({ endpoints: list, types: EVENT_TYPES }),
  columns: {
    id: ({ id }) => id,
    url: ({ url }) => url,
    events: ({ events }) => events.join(' '),
    description: ({ description }) => description,
    added: ({ createdAt }) => createdAt,
    failing_since: ({ failingSince }) => failingSince,
    disabled: ({ disabledAt }) => disabledAt,
    disabled_reason: ({ disabledReason }) => disabledReason,
  },
  command: {
    line: (endpoint) => {
      const { id, url, events, description } = endpoint
      return [id, formatState(endpoint), url, events.join(','), description]
    },
  },
})

const deliveries = defineList({
  name: 'deliveries',
  summary: 'List webhook deliveries, newest first',
  console: 'deliveries',
  query: closedObject({
    endpoint: t.Optional(
      t.String({ maxLength: 100, description: 'only to this endpoint', placeholder: 'id' }),
    ),
    state: t.Optional(
      literalUnion(DELIVERY_STATES, { description: `only ${DELIVERY_STATES.join(', ')}` }),
    ),
    sort: t.Optional(literalUnion(DELIVERY_ORDERS, { description: 'by time of creation' })),
    after,
  }),
  isPersonal: true,
  read: ({ webhooks }: Needs, query) => webhooks.deliveries.list(query),
  rows: ({ deliveries }) => deliveries,
  userIds: ({ userId }) => [userId],
  columns: {
    created: ({ createdAt }) => createdAt,
    id: ({ id }) => id,
    endpoint_id: ({ endpointId }) => endpointId,
    message_id: ({ messageId }) => messageId,
    type: ({ type }) => type,
    user_id: ({ userId }) => userId,
    state: ({ state }) => state,
    attempts: ({ attempts }) => attempts,
    next_attempt: ({ nextAttemptAt }) => nextAttemptAt,
  },
  command: {
    line: ({ id, createdAt, type, state, attempts, endpointId, nextAttemptAt }) => {
      const tries = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
      const then = nextAttemptAt === null ? '' : `next ${nextAttemptAt}`
      return [id, createdAt, type, state, tries, endpointId, then]
    },
  },
})

function formatState({ disabledAt, disabledReason, failingSince }: Endpoint): string {
  if (disabledAt !== null) return `disabled (${disabledReason})`
  return failingSince === null ? 'enabled' : `failing since ${failingSince}`
}

export const webhookLists = [endpoints, deliveries]

const show = dataCommand({
  name: 'webhooks show',
  summary: 'Show a webhook delivery: its request, and the response to each attempt',
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
        [at, `${duration} ms`, status ?? 'no response', fault ?? '', JSON.stringify(reply)].join(
          '\t',
        ),
      ),
    ].join('\n'),
})

export const webhookCommands = [show]
