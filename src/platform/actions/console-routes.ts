import type { TObject } from '@sinclair/typebox'
import type { Server } from 'bun'
import { type AnyElysia, type Context, Elysia, type TSchema } from 'elysia'
import type { Log } from '../../lib/log/log.ts'
import { restoreDots } from '../../lib/text/path-segment.ts'
import type { ConsoleContext } from '../feature.ts'
import { hasBody, json } from '../http/body/body.ts'
import { disableIdleTimeout } from '../http/body/connection-time.ts'
import { allow, CONSOLE_API, findOperator } from '../http/console-guard.ts'
import { closedObject, data } from '../http/replies/envelope.ts'
import { progressReply } from '../http/replies/progress-reply.ts'
import { type ActionContext, type AnyAction, performAction } from './action.ts'

/** The context of a route that derives from a declaration. */
export type RouteRequest = {
  request: Request
  server: Server<unknown> | null
  params?: Record<string, string>
  query: Record<string, unknown>
  body?: Record<string, unknown>
  set: Context['set']
}

type ConsoleActionsDeps = { services: object; log: Log } & Pick<
  ConsoleContext,
  'record' | 'findBaseUrl'
>

/** The console's routes for actions. Members in the path are read from it, all others from the body. */
export function consoleActions(actions: readonly AnyAction[], deps: ConsoleActionsDeps) {
  const app: AnyElysia = new Elysia({ name: 'console-actions', prefix: CONSOLE_API })
  for (const action of actions) {
    if (action.console === null) continue
    const { params, others: body } = splitByPath(action.input.properties, action.console)
    const route: object = {
      ...(hasMembers(params) && { params }),
      ...(hasMembers(body) && optionalJson(body, action.bodyLimit)),
      ...allow(action.role, action.proof),
    }
    const handle = (context: unknown) => answer(action, context as RouteRequest, deps)
    const method = action.fileName ? 'GET' : 'POST'
    app.route(method, `/${action.console}`, handle, { config: {}, ...route })
  }
  return app
}

/** The actions that have buttons and forms in the console, as its page describes them, by path. */
export function describeActions(actions: readonly AnyAction[]) {
  const shown = actions.flatMap(({ console: path, role, label, form, input, fileName }) =>
    path === null || !form
      ? []
      : [[path, { role, label, ...form, input, isFile: fileName !== undefined }] as const],
  )
  return Object.fromEntries(shown)
}

async function answer(
  action: AnyAction,
  { request, server, params, body, set }: RouteRequest,
  { services, record, log, findBaseUrl }: ConsoleActionsDeps,
) {
  const input = { ...readPathMembers(params), ...body }
  if (action.hasProgress) return progressReply({ request, server, set, log }, perform)
  disableIdleTimeout(request, server)
  const shown = await perform(() => {}, new AbortController().signal)
  if (!action.fileName) return data(shown ?? null)
  set.headers['content-disposition'] = `attachment; filename="${action.fileName(shown)}"`
  return shown

  async function perform(
    onProgress: ActionContext['onProgress'],
    signal: AbortSignal,
  ): Promise<unknown> {
    const caller = { name: findOperator(request).name, via: 'console' } as const
    const context = { caller, signal, onProgress, baseUrl: findBaseUrl(request) }
    const outcome = await performAction(action, services, input, context, (entry) =>
      record(request, entry),
    )
    return action.show ? action.show(outcome, services as never) : outcome
  }
}

/** The members of an input that are in the path, and the others. */
export function splitByPath(members: Record<string, TSchema>, path: string) {
  const isInPath = ([name]: [string, TSchema]) => path.split('/').includes(`:${name}`)
  const { true: inPath = [], false: others = [] } = Object.groupBy(
    Object.entries(members),
    (member) => `${isInPath(member)}` as const,
  )
  return {
    params: closedObject(Object.fromEntries(inPath)),
    others: closedObject(Object.fromEntries(others)),
  }
}

/** The members of an input in the path of a request. */
export function readPathMembers(params: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, id]) => [name, restoreDots(id)]))
}

export function hasMembers({ properties }: TObject): boolean {
  return Object.keys(properties).length > 0
}

/** A body that may be missing if all of its members are optional. */
function optionalJson(schema: ReturnType<typeof closedObject>, limit?: number) {
  const { parse, body } = json(schema, limit)
  if (schema.required !== undefined) return { parse, body }
  const parseIfSent = (context: { request: Request }) =>
    hasBody(context.request) ? parse[0]?.(context) : {}
  return { parse: [parseIfSent], body }
}
