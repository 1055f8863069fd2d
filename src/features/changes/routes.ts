import type { Server } from 'bun'
import { Elysia } from 'elysia'
import type { authenticate } from '../../platform/http/authenticate.ts'
import { disableIdleTimeout } from '../../platform/http/body/connection-time.ts'
import { rawReply } from '../../platform/http/replies/raw-reply.ts'
import { optionalHeader } from '../../platform/http/request/request-headers.ts'
import { StreamResponses } from './model.ts'
import type { Changes } from './service.ts'

type ChangesRoutesDeps = {
  changes: Changes
  signedIn: ReturnType<typeof authenticate>
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // The connection no longer has an idle timeout, so it must not outlive the stream.
  connection: 'close',
  // Stops nginx from buffering the events.
  'x-accel-buffering': 'no',
}

export function changesRoutes({ changes, signedIn }: ChangesRoutesDeps) {
  return new Elysia({ name: 'changes' }).use(signedIn).get(
    '/api/user/changes/v1',
    async ({ session, request, server, set }) => {
      if (request.method === 'HEAD') return rawReply(set, null, HEADERS)
      const lastEventId = optionalHeader(request.headers, 'last-event-id')
      const body = await changes.open(session, lastEventId, request.signal)
      disableIdleTimeout(request, server as Server<unknown> | null)
      return rawReply(set, body, HEADERS)
    },
    {
      signedIn: true,
      detail: {
        'x-request-headers': ['LastEventId'],
        tags: ['Profile'],
        operationId: 'streamChanges',
        summary: 'Stream changes as they happen',
        description:
          'Server-sent events (`text/event-stream`) that tell the app what to read again. After a lost connection, send the id of the last event as `Last-Event-ID`. An event may be repeated.',
        responses: StreamResponses as never,
      },
    },
  )
}
