import { WEBHOOK_PATH } from '../features/billing/model.ts'
import { describeExamples } from '../lib/example-content.ts'
import { CONSOLE_API } from '../platform/http/console-guard.ts'
import type { Requester } from '../platform/http/request/request-log.ts'
import type { RequestLabels } from '../platform/metrics/registry.ts'
import { createSlowest } from '../platform/metrics/slowest.ts'
import { createRecorder } from '../platform/metrics/snapshots.ts'
import { isConsole } from './endpoints.ts'
import { createReadiness, type ReadinessDeps } from './readiness.ts'
import { createStatus } from './status.ts'

/** The last accepted and the last refused delivery; null until there is one. */
export type DeliveryRecord = {
  acceptedAt: string | null
  refused: { at: string; status: number; code: string } | null
}

export function createMonitoring(deps: ReadinessDeps) {
  const { config, db, registry, host, now } = deps
  const { readiness, faults } = createReadiness(deps)
  const deliveries: DeliveryRecord = { acceptedAt: null, refused: null }
  const recorder = createRecorder({
    db,
    registry,
    eventRoute: WEBHOOK_PATH,
    countWrites: () => db.writeStats().changes,
    instance: config.instance ?? '',
    version: deps.version,
    servingSince: deps.servingSince,
    now,
  })
  const status = createStatus(deps, readiness, recorder.tallies.list)
  const slowest = createSlowest(now, isConsole)
  return { observeRequest, recorder, slowest, readiness, status, serverState }

  function observeRequest(
    labels: RequestLabels,
    seconds: number,
    { id, userId, isStray }: Requester,
  ) {
    const { route, status, code } = labels
    const { name } = registry.observeRequest(labels, seconds, isStray)
    slowest.add({
      name,
      status,
      ms: seconds * 1000,
      at: now().getTime(),
      requestId: id,
      // In the console the user is an operator.
      userId: route.startsWith(CONSOLE_API) ? null : userId,
    })
    if (route !== WEBHOOK_PATH) return
    const at = now().toISOString()
    if (status === 200) deliveries.acceptedAt = at
    else if (!isStray) deliveries.refused = { at, status, code }
  }

  /** The state that `doctor` requests from a running server. */
  async function serverState() {
    return {
      ready: await readiness(),
      faults,
      ...(await host.backup()),
      delivery: deliveries,
      storeProblem: await deps.storeOwner.describeProblem().catch(() => null),
      refusedPasskeys: deps.users.webOriginGuard.findRefusal(),
      failedWebhooks: (await deps.webhooks?.health.listFailed()) ?? [],
      unconverted: (await deps.figures.read({})).unconverted,
      settingWarnings: [...(await deps.settings.warn()), ...(await deps.plans.warn())],
      examples: describeExamples(await deps.settings.read(), await deps.plans.list()),
    }
  }
}
