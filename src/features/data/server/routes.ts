import { type Context, Elysia } from 'elysia'
import { type ScopeGuard, SERVER_API, UserParams } from '../../../platform/http/api-key-guard.ts'
import { json } from '../../../platform/http/body/body.ts'
import { createDataSchema, data, responses } from '../../../platform/http/replies/envelope.ts'
import { DataBody, DataPatch, DataQuery, ServerDataReply } from '../model.ts'
import { BODY_LIMIT, readCondition } from '../routes.ts'
import type { JsonObject } from '../schema.ts'
import type { DataService } from '../service.ts'

const PATH = `${SERVER_API}/users/v1/:id/data`
const tags = ['Data']

const CHANGE = {
  scope: 'users:write',
  params: UserParams,
  query: DataQuery,
  response: responses(
    createDataSchema(ServerDataReply),
    ...([400, 401, 403, 404, 412, 413, 415, 422, 429, 507] as const),
  ),
} as const
const CHANGE_DETAIL = { 'x-entity-tag': true, 'x-request-headers': ['IfMatch'], tags }

type Reply = Awaited<ReturnType<DataService['readServerData']>>

export function serverDataRoutes({
  documents,
  scopeGuard,
}: {
  documents: DataService
  scopeGuard: ScopeGuard
}) {
  return new Elysia({ name: 'server-data' })
    .use(scopeGuard)
    .get(PATH, async ({ params, set }) => send(await documents.readServerData(params.id), set), {
      scope: 'users:read',
      params: UserParams,
      response: responses(createDataSchema(ServerDataReply), 400, 401, 403, 404, 429),
      detail: {
        'x-entity-tag': true,
        tags,
        operationId: 'readServerData',
        summary: 'Read a user’s server data',
        description: 'The JSON document that servers store for a user; the app can only read it.',
      },
    })
    .put(
      PATH,
      async ({ params, request, body, query, set }) => {
        const condition = readCondition(request, query.version)
        return send(
          await documents.replaceServerData(params.id, body as JsonObject, condition),
          set,
        )
      },
      {
        ...CHANGE,
        ...json(DataBody, BODY_LIMIT),
        detail: {
          ...CHANGE_DETAIL,
          operationId: 'replaceServerData',
          summary: 'Replace a user’s server data',
          description:
            'Stores the body as the whole document. Send `If-Match` or `version` to replace only the document that you have read; otherwise the last change wins. `If-None-Match: *` stores only the first document.',
        },
      },
    )
    .patch(
      PATH,
      async ({ params, request, body, query, set }) => {
        const condition = readCondition(request, query.version)
        return send(await documents.patchServerData(params.id, body as JsonObject, condition), set)
      },
      {
        ...CHANGE,
        ...json(DataPatch, BODY_LIMIT),
        detail: {
          ...CHANGE_DETAIL,
          operationId: 'patchServerData',
          summary: 'Change a user’s server data',
          description: 'A merge patch (RFC 7396): absent members stay, `null` removes a member.',
        },
      },
    )
}

function send(reply: Reply, set: Context['set']) {
  set.headers['etag'] = `"${reply.version}"`
  return data(reply)
}
