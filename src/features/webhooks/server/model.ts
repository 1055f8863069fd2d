import { t } from 'elysia'
import {
  closedObject,
  createDataSchema,
  id,
  integer,
  nullable,
  openEnum,
  text,
  time,
} from '../../../platform/http/replies/envelope.ts'
import { EVENT_TYPES } from '../events.ts'

export const serverWebhookTags = { Webhooks: 'endpoints that receive events' }

const url = t.String({
  maxLength: 2_000,
  description: 'where events are sent: https, at a public IP address',
  field: { hint: 'Begins with https://' },
  examples: ['https://example.com/hooks'],
})
const events = t.Array(t.String({ maxLength: 100 }), {
  minItems: 1,
  maxItems: EVENT_TYPES.length + 1,
  description: `\`all\`, or some of ${EVENT_TYPES.map((type) => `\`${type}\``).join(', ')}`,
  examples: [['subscription.changed']],
  field: { hint: 'all, or types separated by commas' },
})
const description = t.String({
  maxLength: 200,
  description: 'a note for operators',
  field: { hint: 'Optional', isProse: true },
  examples: ['AI endpoint'],
})
const endpoint = {
  id: id('of the endpoint'),
  url,
  description,
  events,
  createdAt: time('when it was added'),
  failingSince: nullable(time('when attempts began to fail; null if the last one succeeded')),
  disabledAt: nullable(time('when it was disabled; null if it is enabled')),
  disabledReason: nullable(
    openEnum(['operator', 'gone', 'failing'], { description: 'why it is disabled' }),
  ),
  rotatingUntil: nullable(time('when the previous secret stops signing; null if there is none')),
}

export const EndpointParams = closedObject({
  id: text('the id of the endpoint', '01a1fecb-4162-75f8-b13e-d84fd1f88be2', { maxLength: 100 }),
})

export const NewEndpointRequest = closedObject({
  url,
  events,
  description: t.Optional(description),
})

export const EndpointChanges = t.Partial(NewEndpointRequest)

const Endpoint = closedObject(endpoint, 'WebhookEndpoint', 'an endpoint that receives events')
export const EndpointReply = createDataSchema(Endpoint)
export const EndpointsReply = createDataSchema(t.Array(Endpoint))

export const ResentReply = createDataSchema(
  closedObject(
    { resent: integer({ description: 'how many deliveries are sent again', examples: [3] }) },
    'ResentWebhooks',
    'what is sent again',
  ),
)

export const AddedEndpointReply = createDataSchema(
  closedObject(
    {
      ...endpoint,
      secret: t.String({
        description: 'signs the events; it is returned only here',
        examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      }),
    },
    'AddedWebhookEndpoint',
    'a new endpoint with its secret',
  ),
)

export const TestReply = createDataSchema(
  closedObject(
    {
      delivery: id('of the delivery'),
      duration: integer({ description: 'how long the attempt took, in ms', examples: [120] }),
      status: nullable(
        integer({ description: 'the status of the response', examples: [204] }),
        'the status of the response; null if there was none',
      ),
      fault: nullable(
        text('what went wrong', 'The response took too long.'),
        'what went wrong; null if the event was delivered',
      ),
      reply: text('the beginning of the response', 'ok'),
    },
    'WebhookTest',
    'the result of a test event',
  ),
)
