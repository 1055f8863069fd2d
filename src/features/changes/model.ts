import { t } from 'elysia'
import { closedObject, openEnum, time } from '../../platform/http/replies/envelope.ts'

const failure = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
})

/** For OpenAPI. */
export const StreamResponses = {
  200: {
    description: 'Server-sent events until the session ends',
    content: {
      'text/event-stream': {
        schema: {
          type: 'string',
          description:
            'the events `ready`, `subscription`, `profile`, `data`, `settings` and `signed-out`',
          example:
            'retry: 3000\nid: 01a1fecb-4162-75f8-b13e-d84fd1f88be2\nevent: ready\ndata: {}\n\n',
        },
      },
    },
  },
  400: failure('The request cannot be read'),
  401: failure('The token is missing, invalid or expired'),
  503: failure('The server is restarting'),
} as const

export const changesExport = {
  changes: t.Array(
    closedObject(
      {
        kind: openEnum(['subscription', 'profile', 'data', 'settings', 'signed-out'], {
          description: 'what has changed',
        }),
        at: time('when it last changed'),
      },
      'ExportedChange',
      'the latest change of one kind',
    ),
    { description: 'when the server last told the user’s apps about a change' },
  ),
}
