import { type AnyElysia, Elysia } from 'elysia'
import type { ServerContext } from '../feature.ts'
import { findCaller, SERVER_API } from '../http/api-key-guard.ts'
import { json } from '../http/body/body.ts'
import { disableIdleTimeout } from '../http/body/connection-time.ts'
import { data, responses } from '../http/replies/envelope.ts'
import { type AnyAction, performAction } from './action.ts'
import type { RouteRequest } from './console-routes.ts'

type ServerActionsDeps = { services: object } & ServerContext

export function serverActions(actions: readonly AnyAction[], deps: ServerActionsDeps): AnyElysia {
  const app: AnyElysia = new Elysia({ name: 'server-actions' }).use(deps.scopeGuard)
  for (const action of actions) {
    if (!action.server) continue
    const { method, path, scope, params, query, body, reply, failures, ...about } = action.server
    const { operationId, tag, description, summary = action.summary } = about
    const route: object = {
      scope,
      ...(params && { params }),
      ...(query && { query }),
      ...(body ? json(body) : { parse: 'none' }),
      response: responses(reply, 400, 401, 403, 429, ...(body ? [413, 415] : []), ...failures),
      detail: { tags: [tag], operationId, summary, description },
    }
    const handle = (context: unknown) => answer(action, context as RouteRequest, deps)
    app.route(method.toUpperCase(), SERVER_API + path, handle, { config: {}, ...route })
  }
  return app
}

async function answer(
  action: AnyAction,
  { request, server, params, query, body }: RouteRequest,
  { services, recordByKey, findBaseUrl }: ServerActionsDeps,
) {
  disableIdleTimeout(request, server)
  const { read, show = action.show, toReply } = action.server ?? {}
  const sent = { ...query, ...params, ...body }
  const outcome = await performAction(
    action,
    services,
    read ? read(sent) : sent,
    {
      caller: { name: `API key ${findCaller(request).key}`, via: 'server' },
      baseUrl: findBaseUrl(request),
    },
    (entry) => recordByKey(request, entry),
  )
  if (toReply) return toReply(outcome)
  return data(show ? await show(outcome, services as never) : outcome)
}
