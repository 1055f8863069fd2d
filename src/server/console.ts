import { Elysia } from 'elysia'
import { attachmentsAdmin } from '../features/attachments/admin.ts'
import { billingAdmin } from '../features/billing/admin.ts'
import { contentAdmin } from '../features/content/admin.ts'
import { operatorsAdmin } from '../features/operators/admin.ts'
import { plansAdmin } from '../features/plans/admin.ts'
import { ratesAdmin } from '../features/rates/admin.ts'
import { settingsAdmin } from '../features/settings/admin.ts'
import { userAdmin } from '../features/users/admin.ts'
import { keysAdmin } from '../platform/encryption/admin.ts'
import {
  consoleGuard,
  operatorOf,
  type RecordAct,
  sessionTokenOf,
  visitorOf,
} from '../platform/http/console-guard.ts'
import { consoleNetworks } from '../platform/http/console-networks.ts'
import { consolePage } from '../platform/http/console-page.ts'
import { requestInfo } from '../platform/http/request-id.ts'
import { createBaseUrlOf } from '../platform/http/request-url.ts'
import { backupsAdmin } from '../usecases/admin/backups.ts'
import { healthAdmin } from '../usecases/admin/health.ts'
import { BUILD } from '../version.ts'
import type { Services } from './services.ts'

/** The operator's console: its page, and what that asks for. */
export function createConsole(services: Services) {
  const { maySeeConsole: isAllowed, config } = services
  const isLimited = config.consoleNetworks.length > 0
  return new Elysia({ name: 'console' })
    .use(isLimited ? consoleNetworks({ isAllowed }) : new Elysia())
    .use(consolePage())
    .use(createAdmin(services))
}

/** What the page asks for, behind one guard; not in the public document. */
function createAdmin(services: Services) {
  const { config, db, appName, consoleUrl, ipOf, now, log } = services
  const { operators, users, profile, limits, findUsers, exportData, deleteAccount } = services
  const { billing, eventSearch, reprocess, timeline, reconcile, rates, outbox, recorder, backups } =
    services
  const { settings, plans, content, attachments, listing, usage } = services
  const { encryptionKeys, signingKeys, readiness, timerRuns, liveLines } = services
  const guard = consoleGuard({
    checkSession: operators.sessions.check,
    baseUrl: config.consolePort === null ? config.baseUrl : null,
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
  const isSignedIn = async (request: Request) => {
    const token = sessionTokenOf(request)
    return token !== null && (await operators.sessions.check(token)) !== null
  }
  const personOf = async (id: string | null) =>
    id === null ? null : ((await users.directory.listOf([id]))[0] ?? null)
  const baseUrlOf = createBaseUrlOf(config.baseUrl)
  return new Elysia({ name: 'admin', normalize: false, detail: { hide: true } })
    .use(guard)
    .use(operatorsAdmin({ operators, appName, consoleUrl, isSignedIn, record, now }))
    .use(userAdmin({ users, profile, limits, findUsers, exportData, deleteAccount, record }))
    .use(
      billingAdmin({ billing, eventSearch, reprocess, timeline, reconcile, personOf, record, log }),
    )
    .use(settingsAdmin({ settings, record }))
    .use(plansAdmin({ plans, record }))
    .use(contentAdmin({ content, record }))
    .use(ratesAdmin({ rates, record }))
    .use(keysAdmin({ encryptionKeys, signingKeys, record }))
    .use(attachmentsAdmin({ attachments, listing, usage, baseUrlOf, record }))
    .use(backupsAdmin({ backups, record, log }))
    .use(
      healthAdmin({
        config,
        db,
        version: BUILD,
        readiness,
        eventSearch,
        rates,
        outbox,
        recorder,
        backups,
        timerRuns,
        liveLines,
        isSignedIn,
        now,
      }),
    )
}
