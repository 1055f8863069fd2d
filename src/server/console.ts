import { type AnyElysia, Elysia } from 'elysia'
import { formatCommand } from '../config/command-line.ts'
import { backupsConsole } from '../operations/console/backups.ts'
import { metricsConsole } from '../operations/console/metrics.ts'
import { healthConsole } from '../operations/console/overview.ts'
import { consoleActions, describeActions } from '../platform/actions/console-routes.ts'
import type { ConsoleContext } from '../platform/feature.ts'
import { readSessionToken } from '../platform/http/console-cookie.ts'
import {
  allow,
  CONSOLE_API,
  consoleGuard,
  findOperator,
  findVisitor,
  type RecordAction,
} from '../platform/http/console-guard.ts'
import { consoleNetworks, consolePage } from '../platform/http/pages/console-page.ts'
import { data, hidden } from '../platform/http/replies/envelope.ts'
import { requestInfo } from '../platform/http/request/request-log.ts'
import { createBaseUrlReader, type FromProxy } from '../platform/http/request/request-url.ts'
import { consoleLists } from '../platform/lists/console-routes.ts'
import { publicUrl } from '../platform/public-url.ts'
import { actions, auditLabels, lists } from './declarations.ts'
import type { Services } from './services.ts'

/** What the page knows about actions, and about the entries of the audit log. */
const declared = { actions: describeActions(actions), labels: auditLabels }

/** The operators' console: its page, and the routes that the page calls. */
export function createConsole(services: Services, isFromProxy: FromProxy) {
  const { maySeeConsole: isAllowed, config } = services
  const isLimited = config.consoleNetworks.length > 0
  return new Elysia({ name: 'console' })
    .use(isLimited ? consoleNetworks({ isAllowed }) : new Elysia())
    .use(consolePage())
    .use(createConsoleApi(services, isFromProxy))
}

/** The console's routes, protected by one guard and hidden from the public OpenAPI document. */
function createConsoleApi(services: Services, isFromProxy: FromProxy) {
  const { config, operators, findIp, now } = services
  const checkSession = operators.sessions.check
  const { guard, protect } = consoleGuard({
    checkSession,
    baseUrl: config.consolePort === null ? config.baseUrl : null,
    findIp,
    now,
  })
  const record: RecordAction = (request, entry) =>
    operators.audit.record({
      ...entry,
      operator: findOperator(request).name,
      origin: findVisitor(request).ip,
      requestId: requestInfo(request).id,
    })
  const isSignedIn = async (request: Request) => {
    const token = readSessionToken(request)
    return token !== null && (await checkSession(token, { isUse: false })) !== null
  }
  const findBaseUrl = createBaseUrlReader(config.baseUrl, isFromProxy)
  // The console's own port serves no files.
  const findFilesBase = (request: Request) => {
    const base = new URL(findBaseUrl(request))
    if (config.consolePort !== null && config.baseUrl === null) base.port = String(config.port)
    return base.origin
  }
  const context: ConsoleContext = {
    record,
    isSignedIn,
    findBaseUrl: findFilesBase,
    findUserNames: services.users.directory.findNames,
  }
  const deps = { services, log: services.log, now, ...context }
  const place = { program: formatCommand(config), publicUrl: publicUrl(config) }
  const api: AnyElysia = new Elysia({
    name: 'console-api',
    normalize: false,
    ...hidden,
  })
    .use(guard)
    .use(consoleActions(actions, deps))
    .use(consoleLists(lists, deps))
    .get(`${CONSOLE_API}/declarations`, () => data({ ...declared, ...place }), allow('reader'))
    .use(backupsConsole({ ...services, record }))
    .use(healthConsole({ ...services, isSignedIn }))
    .use(metricsConsole(services))
  for (const { consoleRoutes } of services.parts) if (consoleRoutes) api.use(consoleRoutes(context))
  return protect(api)
}
