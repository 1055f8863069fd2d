import { withTimeout } from '../lib/concurrency/with-timeout.ts'
import type { ComponentState, Readiness } from '../platform/http/health.ts'
import type { HostState } from './host-state.ts'
import type { MonitoringDeps } from './monitored.ts'

/** How long the result of a probe is reused. */
const PROBE_LIFETIME_MS = 1_000
/** A load balancer must learn quickly whether to send requests elsewhere. */
const PROBE_TIMEOUT_MS = 2_000

/** Why the database or the storage takes no changes, at the last probe. */
type Faults = { database?: string; storage?: string }

/** The state of each component. A change to or from `failing` is logged. */
export function createReadiness(deps: MonitoringDeps) {
  const { config, db, rates, imageQueue, host, log } = deps
  let last: { at: number; probes: ReturnType<typeof probe> } | null = null
  let known: Partial<Readiness> = {}
  let faults: Faults = {}
  return { readiness, faults: () => faults }

  async function readiness(): Promise<Readiness> {
    const at = performance.now()
    if (last === null || at - last.at > PROBE_LIFETIME_MS) last = { at, probes: probe() }
    const parts: Readiness = {
      ...(await last.probes),
      store: config.filesUrl ? await storeState(deps.storeOwner.describe) : 'off',
      imageWorker: imageQueue.isFailing() ? 'failing' : 'ok',
      rates: rates.isStale === null ? 'off' : await ratesState(rates.isStale),
      certificate: certificateState(host.certificate),
      backup: await backupState(host.backup),
      ...(config.instance === null ? {} : { instance: config.instance }),
    }
    logChanges(parts)
    return parts
  }

  async function probe(): Promise<Pick<Readiness, 'database' | 'storage'>> {
    const timeoutError = () => new Error('the storage does not respond')
    const [storage, database] = await Promise.all([
      withTimeout(deps.probeStorage(), PROBE_TIMEOUT_MS, timeoutError).then(() => null, asError),
      db.probe().then(() => null, asError),
    ])
    if (storage && known.storage !== 'failing')
      log.warn({ err: storage }, 'the storage is not writable')
    if (database && known.database !== 'failing')
      log.warn({ err: database }, 'the database is not writable')
    faults = {
      ...(database && { database: reasonOf(database) }),
      ...(storage && { storage: reasonOf(storage) }),
    }
    return { database: database ? 'failing' : 'ok', storage: storage ? 'failing' : 'ok' }
  }

  function logChanges(parts: Readiness) {
    for (const [part, state] of Object.entries(parts)) {
      const before = known[part as keyof Readiness]
      if (state === before) continue
      if (state === 'failing') log.warn({ part, state }, 'a component is failing')
      else if (before === 'failing') log.info({ part, state }, 'a component has recovered')
    }
    known = parts
  }
}

function asError(error: Error): Error {
  return error
}

/** What the database or the store said, rather than what users are told. */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error ? cause.message : message
}

function certificateState(certificate: HostState['certificate']): ComponentState {
  if (certificate === null) return 'off'
  return certificate().isFailing ? 'failing' : 'ok'
}

async function backupState(backup: HostState['backup']): Promise<ComponentState> {
  const { isScheduled, fault } = await backup()
  if (!isScheduled) return 'off'
  return fault === null ? 'ok' : 'failing'
}

function ratesState(areStale: () => Promise<boolean>): Promise<ComponentState> {
  return areStale().then(
    (isStale) => (isStale ? 'stale' : 'ok'),
    () => 'failing',
  )
}

function storeState(describe: () => Promise<string | null>): Promise<ComponentState> {
  const timeoutError = () => new Error('the store does not respond')
  return withTimeout(describe(), PROBE_TIMEOUT_MS, timeoutError).then(
    (problem) => (problem === null ? 'ok' : 'failing'),
    () => 'failing',
  )
}
