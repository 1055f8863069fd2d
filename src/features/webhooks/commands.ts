import {
  dataCommand,
  type Options,
  parseLimitOption,
  parseListOption,
  UsageError,
} from '../../lib/command.ts'
import { DELIVERY_STATES, type DeliveryFilter } from './deliveries.ts'
import { auditedEndpoint, type Endpoint, withoutQuery } from './endpoints.ts'
import { EVENT_TYPES } from './events.ts'
import type { Webhooks } from './webhooks.ts'

type Needs = { webhooks: Webhooks }

const add = dataCommand({
  name: 'webhooks add',
  summary: 'Add a webhook endpoint, and print its secret once',
  arguments: '<url>',
  options: [
    ['--events <types>', `all, or some of ${EVENT_TYPES.join(',')}`, 'list'],
    ['--description <text>', 'what it is for'],
  ],
  input: ([url = ''], { events, description }) => ({
    url,
    events: readEvents(events),
    ...(typeof description === 'string' ? { description } : {}),
  }),
  work: ({ webhooks }: Needs, endpoint) => webhooks.endpoints.add(endpoint),
  print: ({ endpoint, secret }) => `Added ${endpoint.id}.\n${describeSecret(secret)}`,
  changes: ({ endpoint }) => auditedEndpoint(endpoint),
  target: ({ endpoint }) => endpoint.id,
})

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

const change = dataCommand({
  name: 'webhooks change',
  summary: 'Change a webhook endpoint; waiting deliveries go to its new URL',
  arguments: '<id>',
  options: [
    ['--url <url>', 'where events are sent from now on'],
    ['--events <types>', 'all, or a list of types, instead of the present ones', 'list'],
    ['--description <text>', 'what it is for'],
  ],
  input: ([id = ''], { url, events, description }) => {
    const changes = {
      ...(typeof url === 'string' ? { url } : {}),
      ...(typeof events === 'string' ? { events: parseListOption(events) } : {}),
      ...(typeof description === 'string' ? { description } : {}),
    }
    if (Object.keys(changes).length === 0)
      throw new UsageError('Specify --url, --events or --description.')
    return { id, changes }
  },
  work: ({ webhooks }: Needs, { id, changes }) => webhooks.endpoints.change(id, changes),
  print: ({ endpoint: { url, events } }) => `${url} receives ${events.join(', ')}.`,
  changes: ({ endpoint }) => auditedEndpoint(endpoint),
  target: ({ endpoint }) => endpoint.id,
})

const test = dataCommand({
  name: 'webhooks test',
  summary: 'Send a test event to a webhook endpoint; exit 1 if it fails',
  arguments: '<id>',
  input: ([id = '']) => id,
  work: ({ webhooks }: Needs, id: string) => webhooks.test(id),
  print: ({ status, fault, duration }) =>
    fault ?? `Delivered: the endpoint replied ${status} in ${duration} ms.`,
  isFailure: ({ fault }) => fault !== null,
  changes: ({ delivery }) => ({ delivery }),
  target: (_outcome, id) => id,
})

const disable = dataCommand({
  name: 'webhooks disable',
  summary: 'Pause a webhook endpoint; waiting deliveries are kept',
  arguments: '<id>',
  input: ([id = '']) => id,
  work: ({ webhooks }: Needs, id: string) => webhooks.endpoints.disable(id),
  print: ({ url }) => `Disabled ${url}.`,
  changes: ({ url }) => ({ url: withoutQuery(url) }),
  target: ({ id }) => id,
})

const enable = dataCommand({
  name: 'webhooks enable',
  summary: 'Resume a webhook endpoint with its waiting deliveries',
  arguments: '<id>',
  input: ([id = '']) => id,
  work: ({ webhooks }: Needs, id: string) => webhooks.endpoints.enable(id),
  print: ({ url }) => `Enabled ${url}.`,
  changes: ({ url }) => ({ url: withoutQuery(url) }),
  target: ({ id }) => id,
})

const rotate = dataCommand({
  name: 'webhooks rotate',
  summary: 'Replace the secret of a webhook endpoint; the former one also signs for 24 hours',
  arguments: '<id>',
  input: ([id = '']) => id,
  work: ({ webhooks }: Needs, id: string) => webhooks.endpoints.rotate(id),
  print: ({ secret }) => describeSecret(secret),
  changes: ({ endpoint }) => ({ rotatingUntil: endpoint.rotatingUntil }),
  target: ({ endpoint }) => endpoint.id,
})

const remove = dataCommand({
  name: 'webhooks remove',
  summary: 'Remove a webhook endpoint with its deliveries',
  arguments: '<id>',
  input: ([id = '']) => id,
  risk: async ({ webhooks }: Needs, id: string) => {
    const { url } = await webhooks.endpoints.find(id)
    return `This permanently removes ${url}, its secret and its deliveries, including waiting ones.`
  },
  work: ({ webhooks }: Needs, id: string) => webhooks.endpoints.remove(id),
  print: ({ url }) => `Removed ${url}.`,
  changes: (endpoint) => auditedEndpoint(endpoint),
  target: ({ id }) => id,
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

const resend = dataCommand({
  name: 'webhooks resend',
  summary: 'Deliver a webhook message again',
  arguments: '<delivery>',
  input: ([id = '']) => id,
  work: ({ webhooks }: Needs, id: string) => webhooks.deliveries.resend(id),
  print: ({ id }) => `Queued ${id}.`,
  changes: ({ endpointId, type }) => ({ endpoint: endpointId, type }),
  target: ({ id }) => id,
})

const resendFailed = dataCommand({
  name: 'webhooks resend-failed',
  summary: 'Deliver all failed messages of a webhook endpoint again',
  arguments: '<id>',
  input: ([id = '']) => id,
  work: ({ webhooks }: Needs, id: string) => webhooks.deliveries.resendFailed(id),
  print: (resent) => `Queued ${resent} ${resent === 1 ? 'delivery' : 'deliveries'}.`,
  changes: (resent) => ({ resent }),
  target: (_resent, id) => id,
})

function readEvents(text: string | boolean | undefined): string[] {
  if (typeof text !== 'string') throw new UsageError('Specify --events: all, or a list of types.')
  return parseListOption(text)
}

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

function describeSecret(secret: string): string {
  return `The secret, which is not shown again:\n${secret}`
}

function stateOf({ disabledAt, disabledReason, failingSince }: Endpoint): string {
  if (disabledAt !== null) return `disabled (${disabledReason})`
  return failingSince === null ? 'enabled' : `failing since ${failingSince}`
}

export const webhookCommands = [
  add,
  change,
  list,
  test,
  disable,
  enable,
  rotate,
  remove,
  deliveries,
  show,
  resend,
  resendFailed,
]
