import { type AnyElysia, Elysia } from 'elysia'
import type { Log } from '../../lib/log/log.ts'
import {
  hasMembers,
  type RouteRequest,
  readPathMembers,
  splitByPath,
} from '../actions/console-routes.ts'
import type { ConsoleContext } from '../feature.ts'
import { disableIdleTimeout } from '../http/body/connection-time.ts'
import { allow, CONSOLE_API, findOperator } from '../http/console-guard.ts'
import { data } from '../http/replies/envelope.ts'
import { rawReply } from '../http/replies/raw-reply.ts'
import { requestInfo } from '../http/request/request-log.ts'
import { streamCsv, withoutSearchTexts } from './csv.ts'
import { type AnyList, findNext, hasPages, type ListContext, type Names } from './list.ts'

type ConsoleListsDeps = { services: object; now: () => Date; log: Log } & Pick<
  ConsoleContext,
  'record' | 'findBaseUrl' | 'findUserNames'
>

const ROWS_PER_SLICE = 200

/** The console's routes for lists: the page and the CSV file. Members not in the path are read from the query. */
export function consoleLists(lists: readonly AnyList[], deps: ConsoleListsDeps) {
  const app: AnyElysia = new Elysia({ name: 'console-lists', prefix: CONSOLE_API })
  for (const list of lists) {
    const { params, others } = splitByPath(list.query.properties, list.console)
    const schemas = {
      ...(hasMembers(params) && { params }),
      ...(hasMembers(others) && { query: others }),
    }
    const path = `/${list.console}`
    if (!list.isPart)
      app.get(path, (context: unknown) => sendPage(list, context as RouteRequest, deps), {
        ...schemas,
        ...allow('reader'),
      })
    app.get(
      `${path}/export.csv`,
      (context: unknown) => sendCsv(list, context as RouteRequest, deps),
      {
        ...schemas,
        ...(list.isPersonal ? allow('operator', 'stepUp') : allow('reader')),
      },
    )
  }
  return app
}

async function sendPage(list: AnyList, context: RouteRequest, deps: ConsoleListsDeps) {
  const page = await readPage(list, context, deps, 'page')
  const readNames = () => findNames(list, page, deps)
  if (list.show) return data(await list.show(page, deps.services as never, readNames))
  return data(list.userIds ? { ...(page as object), names: await readNames() } : page)
}

/** Streams the whole list. Reads the first slice before responding, so that a refused filter gets an error response. */
async function sendCsv(list: AnyList, context: RouteRequest, deps: ConsoleListsDeps) {
  const { request, params, query, set } = context
  const { record, now, log } = deps
  const first = await readSlice()
  if (list.isPersonal) {
    const target = params?.['id']
    const action = `${list.name}.export-csv`
    await record(request, { action, ...(target && { target }), after: withoutSearchTexts(query) })
  }
  const body = streamCsv(Object.keys(list.columns), first, readSlice, (err) =>
    log.error({ requestId: requestInfo(request).id, err }, 'export failed'),
  )
  const date = now().toISOString().slice(0, 10)
  return rawReply(set, body, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${list.name}-${date}.csv"`,
  })

  async function readSlice(after?: string) {
    const slice = hasPages(list) ? { after, limit: ROWS_PER_SLICE } : {}
    const page = await readPage(list, context, deps, 'file', slice)
    const names = await findNames(list, page, deps)
    const cells = Object.values(list.columns)
    return {
      rows: list.rows(page).map((row) => cells.map((cell) => cell(row as never, names))),
      next: findNext(list, page),
    }
  }
}

async function readPage(
  list: AnyList,
  { request, server, params = {}, query }: RouteRequest,
  { services, findBaseUrl }: ConsoleListsDeps,
  reader: ListContext['reader'],
  slice: { after?: string | undefined; limit?: number } = {},
): Promise<unknown> {
  disableIdleTimeout(request, server)
  return list.read(services as never, { ...readPathMembers(params), ...query, ...slice } as never, {
    reader,
    signal: request.signal,
    role: findOperator(request).role,
    baseUrl: findBaseUrl(request),
  })
}

async function findNames(
  { userIds, rows }: AnyList,
  page: unknown,
  { findUserNames }: ConsoleListsDeps,
): Promise<Names> {
  return userIds ? findUserNames(rows(page).flatMap(userIds)) : {}
}
