import { Elysia } from 'elysia'
import { operatorsAdmin } from './features/operators/admin.ts'
import { consoleGuard, operatorOf, type RecordAct, visitorOf } from './http/console-guard.ts'
import { requestInfo } from './http/request-id.ts'
import type { Services } from './services.ts'

/** What the operator's console asks for, behind one guard; not in the public document. */
export function createAdmin(services: Services) {
  const { operators, consoleUrl, maySeeConsole, ipOf, config, appName, now } = services
  const guard = consoleGuard({
    checkSession: operators.sessions.check,
    isAllowed: maySeeConsole,
    baseUrl: config.baseUrl,
    ipOf,
    now,
  })
  const record: RecordAct = (request, entry) =>
    operators.audit.record({
      ...entry,
      operator: operatorOf(request).name,
      origin: visitorOf(request).ip,
      requestId: requestInfo(request).id,
    })
  return new Elysia({ name: 'admin', normalize: false, detail: { hide: true } })
    .use(guard)
    .use(operatorsAdmin({ operators, appName, consoleUrl, record, now }))
}
