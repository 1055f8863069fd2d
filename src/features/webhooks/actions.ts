import { t } from 'elysia'
import { UsageError } from '../../lib/command.ts'
import { defineAction } from '../../platform/actions/action.ts'
import { readInput } from '../../platform/actions/command-line.ts'
import { closedObject, Message, message } from '../../platform/http/replies/envelope.ts'
import { auditedEndpoint, hideQuery, withoutQuery } from './endpoints.ts'
import {
  AddedEndpointReply,
  EndpointChanges,
  EndpointParams,
  EndpointReply,
  NewEndpointRequest,
  ResentReply,
  TestReply,
} from './server/model.ts'
import type { Webhooks } from './webhooks.ts'

type Needs = { webhooks: Webhooks }

const PATH = '/webhooks/v1'
const route = { scope: 'webhooks:write', tag: 'Webhooks' } as const
const endpointRoute = { ...route, params: EndpointParams } as const
const Changes = closedObject({ ...EndpointParams.properties, ...EndpointChanges.properties })

const add = defineAction({
  name: 'webhooks.add',
  summary: 'Add a webhook endpoint, and print its secret once',
  label: 'Added webhook endpoint',
  role: 'operator',
  proof: 'stepUp',
  input: NewEndpointRequest,
  console: 'webhooks/add',
  form: { verb: 'Add endpoint', done: 'Endpoint added' },
  work: ({ webhooks }: Needs, input) => webhooks.endpoints.add(input),
  audit: ({ endpoint }) => ({ target: endpoint.id, after: auditedEndpoint(endpoint) }),
  show: ({ endpoint, secret }) => ({ endpoint: hideQuery(endpoint), secret }),
  server: {
    ...route,
    method: 'post',
    path: PATH,
    body: NewEndpointRequest,
    operationId: 'addWebhookEndpoint',
    summary: 'Add a webhook endpoint',
    description: 'Returns the secret, once.',
    reply: AddedEndpointReply,
    failures: [409, 422, 507],
    show: ({ endpoint, secret }) => ({ ...endpoint, secret }),
  },
  command: {
    arguments: { url: '<url>' },
    print: ({ endpoint, secret }) => `Added ${endpoint.id}.\n${describeSecret(secret)}`,
  },
})

const change = defineAction({
  name: 'webhooks.change',
  summary: 'Change a webhook endpoint; waiting deliveries go to its new URL',
  label: 'Changed webhook endpoint',
  role: 'operator',
  proof: 'stepUp',
  input: Changes,
  console: 'webhooks/:id/change',
  form: {
    verb: 'Change endpoint',
    consequence:
      'Waiting deliveries go to the new URL. The secret stays. Empty fields stay unchanged.',
    done: 'Endpoint changed',
    isReversible: true,
  },
  work: ({ webhooks }: Needs, { id, ...changes }) => webhooks.endpoints.change(id, changes),
  audit: ({ before, endpoint }) => ({
    target: endpoint.id,
    before: auditedEndpoint(before),
    after: auditedEndpoint(endpoint),
  }),
  show: ({ endpoint }) => hideQuery(endpoint),
  server: {
    ...endpointRoute,
    method: 'patch',
    path: `${PATH}/:id`,
    body: EndpointChanges,
    operationId: 'changeWebhookEndpoint',
    summary: 'Change a webhook endpoint',
    description: 'Waiting deliveries go to the new URL. The secret stays.',
    reply: EndpointReply,
    failures: [404, 422, 507],
  },
  command: {
    arguments: { id: '<id>' },
    read: (args, options) => {
      const input = readInput(Changes, ['id'], args, options)
      if (Object.keys(input).length > 1) return input
      throw new UsageError('Specify --url, --events or --description.')
    },
    print: ({ endpoint: { url, events } }) => `${url} receives ${events.join(', ')}.`,
  },
})

const test = defineAction({
  name: 'webhooks.test',
  summary: 'Send a test event to a webhook endpoint; exit 1 if it fails',
  label: 'Sent a test event to webhook endpoint',
  role: 'operator',
  input: EndpointParams,
  console: 'webhooks/:id/test',
  form: { verb: 'Send test event' },
  work: ({ webhooks }: Needs, { id }) => webhooks.test(id),
  audit: ({ delivery }, { id }) => ({ target: id, after: { delivery } }),
  server: {
    ...endpointRoute,
    method: 'post',
    path: `${PATH}/:id/test`,
    operationId: 'testWebhookEndpoint',
    summary: 'Send a test event to an endpoint',
    description: 'Waits at most ten seconds for the endpoint’s response.',
    reply: TestReply,
    failures: [404, 507],
  },
  command: {
    arguments: { id: '<id>' },
    print: ({ status, fault, duration }) =>
      fault ?? `Delivered: the endpoint returned ${status} in ${duration} ms.`,
    isFailure: ({ fault }) => fault !== null,
  },
})

const disable = defineAction({
  name: 'webhooks.disable',
  summary: 'Pause a webhook endpoint; waiting deliveries are kept',
  label: 'Disabled webhook endpoint',
  role: 'operator',
  input: EndpointParams,
  console: 'webhooks/:id/disable',
  form: {
    verb: 'Disable endpoint',
    consequence:
      'Events that occur while it is disabled are not sent. Waiting deliveries resume when you enable it.',
    done: 'Endpoint disabled',
    isReversible: true,
  },
  work: ({ webhooks }: Needs, { id }) => webhooks.endpoints.disable(id),
  audit: ({ id, url }) => ({ target: id, after: { url: withoutQuery(url) } }),
  show: hideQuery,
  command: { arguments: { id: '<id>' }, print: ({ url }) => `Disabled ${url}.` },
})

const enable = defineAction({
  name: 'webhooks.enable',
  summary: 'Resume a webhook endpoint with its waiting deliveries',
  label: 'Enabled webhook endpoint',
  role: 'operator',
  input: EndpointParams,
  console: 'webhooks/:id/enable',
  form: { verb: 'Enable', done: 'Endpoint enabled' },
  work: ({ webhooks }: Needs, { id }) => webhooks.endpoints.enable(id),
  audit: ({ id, url }) => ({ target: id, after: { url: withoutQuery(url) } }),
  show: hideQuery,
  command: { arguments: { id: '<id>' }, print: ({ url }) => `Enabled ${url}.` },
})

const rotate = defineAction({
  name: 'webhooks.rotate',
  summary: 'Replace the secret of a webhook endpoint; the previous one also signs for 24 hours',
  label: 'Rotated the secret of webhook endpoint',
  role: 'operator',
  proof: 'stepUp',
  input: EndpointParams,
  console: 'webhooks/:id/rotate',
  form: {
    verb: 'Rotate secret',
    consequence: 'Both secrets sign for 24 hours. Enter the new one in your receiver by then.',
    done: 'The new secret is in use',
  },
  work: ({ webhooks }: Needs, { id }) => webhooks.endpoints.rotate(id),
  audit: ({ endpoint: { id, rotatingUntil } }) => ({ target: id, after: { rotatingUntil } }),
  show: ({ endpoint, secret }) => ({ endpoint: hideQuery(endpoint), secret }),
  command: { arguments: { id: '<id>' }, print: ({ secret }) => describeSecret(secret) },
})

const remove = defineAction({
  name: 'webhooks.remove',
  summary: 'Remove a webhook endpoint with its deliveries',
  label: 'Removed webhook endpoint',
  role: 'operator',
  proof: 'stepUp',
  input: EndpointParams,
  console: 'webhooks/:id/remove',
  form: {
    verb: 'Remove endpoint',
    consequence: 'This removes its secret and its deliveries, including waiting ones.',
    done: 'Endpoint removed',
  },
  work: ({ webhooks }: Needs, { id }) => webhooks.endpoints.remove(id),
  audit: (endpoint) => ({ target: endpoint.id, before: auditedEndpoint(endpoint) }),
  show: hideQuery,
  server: {
    ...endpointRoute,
    method: 'delete',
    path: `${PATH}/:id`,
    operationId: 'removeWebhookEndpoint',
    summary: 'Remove a webhook endpoint',
    description: 'Also removes its deliveries.',
    reply: Message,
    failures: [404, 507],
    toReply: () => message('The endpoint has been removed.'),
  },
  command: {
    arguments: { id: '<id>' },
    risk: async ({ webhooks }: Needs, { id }) => {
      const { url } = await webhooks.endpoints.find(id)
      return `This permanently removes ${url}, its secret and its deliveries, including waiting ones.`
    },
    print: ({ url }) => `Removed ${url}.`,
  },
})

const resend = defineAction({
  name: 'deliveries.resend',
  summary: 'Deliver a webhook message again',
  label: 'Resent webhook delivery',
  role: 'operator',
  input: closedObject({ id: t.String({ maxLength: 100 }) }),
  console: 'deliveries/:id/resend',
  form: { verb: 'Resend', done: 'Queued' },
  work: ({ webhooks }: Needs, { id }) => webhooks.deliveries.resend(id),
  audit: ({ id, endpointId, type }) => ({ target: id, after: { endpoint: endpointId, type } }),
  command: { arguments: { id: '<delivery>' }, print: ({ id }) => `Queued ${id}.` },
})

const resendFailed = defineAction({
  name: 'webhooks.resend-failed',
  summary: 'Deliver all failed messages of a webhook endpoint again',
  label: 'Resent failed deliveries of webhook endpoint',
  role: 'operator',
  input: EndpointParams,
  console: 'webhooks/:id/resend-failed',
  form: { verb: 'Resend failed', done: 'Failed deliveries are sent again' },
  work: ({ webhooks }: Needs, { id }) => webhooks.deliveries.resendFailed(id),
  audit: (resent, { id }) => ({ target: id, after: { resent } }),
  show: (resent) => ({ resent }),
  server: {
    ...endpointRoute,
    method: 'post',
    path: `${PATH}/:id/resend_failed`,
    operationId: 'resendFailedWebhooks',
    summary: 'Send all failed deliveries of an endpoint again',
    description: 'Each gets the full schedule of retries.',
    reply: ResentReply,
    failures: [404, 409, 507],
  },
  command: {
    arguments: { id: '<id>' },
    print: (resent) => `Queued ${resent} ${resent === 1 ? 'delivery' : 'deliveries'}.`,
  },
})

function describeSecret(secret: string): string {
  return `The secret, which is not shown again:\n${secret}`
}

export const webhookActions = [
  add,
  change,
  test,
  disable,
  enable,
  rotate,
  remove,
  resend,
  resendFailed,
]
