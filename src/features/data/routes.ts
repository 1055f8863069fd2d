import type { Context } from 'elysia'
import { Elysia } from 'elysia'
import type { authenticate } from '../../platform/http/authenticate.ts'
import { json, LARGE_JSON_LIMIT } from '../../platform/http/body/body.ts'
import { createDataSchema, data, responses } from '../../platform/http/replies/envelope.ts'
import { sendPublic } from '../../platform/http/replies/replies.ts'
import { DataBody, DataPatch, DataQuery, DataReply } from './model.ts'
import type { JsonObject } from './schema.ts'
import type { Condition, DataService } from './service.ts'

type DataRoutesDeps = {
  documents: DataService
  signedIn: ReturnType<typeof authenticate>
}

const PATH = '/api/user/data/v1'
/** White space and escapes make a body up to four times as long as the document. */
export const BODY_LIMIT = LARGE_JSON_LIMIT
const tags = ['Data']

const CHANGE = {
  query: DataQuery,
  signedIn: true,
  response: responses(createDataSchema(DataReply), 400, 401, 412, 413, 415, 422, 507),
} as const
const CHANGE_DETAIL = { 'x-entity-tag': true, 'x-request-headers': ['IfMatch'], tags }

type Reply = Awaited<ReturnType<DataService['read']>>

export function dataRoutes({ documents, signedIn }: DataRoutesDeps) {
  return new Elysia({ name: 'data' })
    .use(signedIn)
    .get(
      PATH,
      async ({ session, request, set }) => {
        const reply = await documents.read(session.userId)
        const body = JSON.stringify(data(reply))
        return sendPublic({ body, etag: toEtag(reply) }, { request, set }, 0, { isPrivate: true })
      },
      {
        signedIn: true,
        response: responses(createDataSchema(DataReply), 400, 401),
        detail: {
          'x-entity-tag': true,
          'x-request-headers': ['IfNoneMatch'],
          tags,
          operationId: 'readData',
          summary: 'Read the app’s data',
          description:
            'The JSON documents that the app and its servers store for the signed-in user. A user without documents has empty ones.',
        },
      },
    )
    .put(
      PATH,
      async ({ session, request, body, query, set }) => {
        const condition = readCondition(request, query.version)
        return send(await documents.replace(session.userId, body as JsonObject, condition), set)
      },
      {
        ...json(DataBody, BODY_LIMIT),
        ...CHANGE,
        detail: {
          ...CHANGE_DETAIL,
          operationId: 'replaceData',
          summary: 'Replace the app’s data',
          description:
            'Stores the body as the whole document. Send `If-Match` or `version` to replace only the document that the app has read; otherwise the last change wins. `If-None-Match: *` stores only the first document.',
        },
      },
    )
    .patch(
      PATH,
      async ({ session, request, body, query, set }) => {
        const condition = readCondition(request, query.version)
        return send(await documents.patch(session.userId, body as JsonObject, condition), set)
      },
      {
        ...json(DataPatch, BODY_LIMIT),
        ...CHANGE,
        detail: {
          ...CHANGE_DETAIL,
          operationId: 'patchData',
          summary: 'Change the app’s data',
          description:
            'A merge patch (RFC 7396): absent members stay, `null` removes a member. Concurrent patches to different members are all kept.',
        },
      },
    )
}

function send(reply: Reply, set: Context['set']) {
  set.headers['etag'] = toEtag(reply)
  return data(reply)
}

/** Covers the whole response. Conditions compare only the part before the dot. */
function toEtag({ version, serverVersion }: Reply): string {
  return `"${version}.${serverVersion}"`
}

/** The query's `version` takes precedence over `If-Match`: a sealed request protects its query, but not its headers. */
export function readCondition({ headers }: Request, version: string | undefined): Condition {
  const accepted = version === undefined ? parseVersions(headers, 'if-match') : [version]
  return {
    accepted: accepted?.includes('*') ? null : accepted,
    refused: parseVersions(headers, 'if-none-match') ?? [],
  }
}

/**
 * Null if the header is missing. A compressing proxy makes an ETag weak, but it still identifies the data. An empty
 * ETag matches nothing: its sender has lost the value.
 */
function parseVersions(headers: Headers, name: string): string[] | null {
  const header = headers.get(name)?.trim()
  if (header === undefined || header === 'null' || header === 'undefined') return null
  if (header === '*') return ['*']
  return header.split(',').map((tag) => /^(?:W\/)?"([^".]*)/.exec(tag.trim())?.[1] ?? '')
}
