import type { ImageQueue } from '../features/attachments/images/image-queue.ts'
import type { DiskSpace } from '../features/attachments/storage/disk-space.ts'
import type { Files } from '../features/attachments/storage/files.ts'
import type { StoreOwner } from '../features/attachments/storage/store-owner.ts'
import { withTimeout } from '../lib/concurrency/with-timeout.ts'
import type { ComponentState, Readiness } from '../platform/http/health.ts'
import type { Monitored } from './monitored.ts'

export type ReadinessDeps = Monitored & {
  space: DiskSpace
  files: Files
  storeOwner: StoreOwner
  imageQueue: ImageQueue
}

type Component = Exclude<keyof Readiness, 'instance'>

/** How long the result of a probe is reused. */
const PROBE_LIFETIME_MS = 1_000
/** A load balancer must learn quickly whether to send requests elsewhere. */
const PROBE_TIMEOUT_MS = 2_000

/** Logs each change to or from `failing`. */
export function createReadiness(deps: ReadinessDeps) {
  const { config, db, space, files, storeOwner, imageQueue, rates, host, log } = deps
  const probeDatabase = reuse(() => db.probe())
  const probeStorage = reuse(async () => {
    await space.probe()
    await files.probe()
  })
  /** A component whose check throws is failing; the error says why. */
  const checks: Record<Component, () => Promise<ComponentState>> = {
    database: () => probeDatabase().then(() => 'ok'),
    storage: () => withProbeTimeout('storage', probeStorage()).then(() => 'ok'),
    async store() {
      if (config.filesUrl === null) return 'off'
      return okIf((await withProbeTimeout('store', storeOwner.describeProblem())) === null)
    },
    imageWorker: async () => okIf(!imageQueue.isFailing()),
    async rates() {
      if (!rates.isRefreshed) return 'off'
      return (await rates.isStale()) ? 'stale' : 'ok'
    },
    certificate: async () => (host.certificate ? okIf(!host.certificate().isFailing) : 'off'),
    async backup() {
      const { isScheduled, fault } = await host.backup()
      return isScheduled ? okIf(fault === null) : 'off'
    },
  }
  const known: Partial<Record<string, ComponentState>> = {}
  const faults: { [name in Component]?: string } = {}
  return { readiness, faults }

  async function readiness(): Promise<Readiness> {
    const names = Object.keys(checks) as Component[]
    const states = await Promise.all(names.map(async (name) => [name, await examine(name)]))
    const { instance } = config
    return { ...Object.fromEntries(states), ...(instance === null ? {} : { instance }) }
  }

  async function examine(part: Component): Promise<ComponentState> {
    const found = await checks[part]().catch((error: Error) => error)
    const isError = found instanceof Error
    const state = isError ? 'failing' : found
    const before = known[part]
    known[part] = state
    delete faults[part]
    if (isError) faults[part] = formatReason(found)
    if (state === 'failing' && before !== state)
      log.warn({ part, state, ...(isError && { err: found }) }, 'a component is failing')
    else if (before === 'failing' && state !== before)
      log.info({ part, state }, 'a component has recovered')
    return state
  }
}

function okIf(isOk: boolean): ComponentState {
  return isOk ? 'ok' : 'failing'
}

/** Repeats `work` only after a second: anyone may request the readiness. */
function reuse<T>(work: () => Promise<T>): () => Promise<T> {
  let last: { at: number; result: Promise<T> } | null = null
  return () => {
    const at = performance.now()
    if (last === null || at - last.at > PROBE_LIFETIME_MS) last = { at, result: work() }
    return last.result
  }
}

function withProbeTimeout<T>(name: string, work: Promise<T>): Promise<T> {
  return withTimeout(work, PROBE_TIMEOUT_MS, () => new Error(`the ${name} does not respond`))
}

/** The message of the database or the store, rather than the one for users. */
function formatReason({ message, cause }: Error): string {
  return cause instanceof Error ? cause.message : message
}
