import type { Log } from '../../lib/log.ts'
import type { Part, Readiness } from '../../platform/http/health.ts'
import type { HostState } from './host-state.ts'

type ReadinessDeps = {
  isWritable: () => Promise<boolean>
  /** Throws when nothing can be stored, and says why. */
  probeStorage: () => Promise<void>
  isImageWorkerFailing: () => boolean
  /** Null when rates are not refreshed. */
  areRatesStale: (() => Promise<boolean>) | null
  host: HostState
  instance: string | null
  log: Log
}

/** Writing is tried no more often than that, however often it is asked for, in ms. */
const PROBE_EVERY = 1_000
/** Whoever asks decides soon whether to send requests elsewhere, in ms. */
const PROBE_TIMEOUT = 2_000

/** Whether each part of the service can do its work. The log has a line when a part changes. */
export function createReadiness(deps: ReadinessDeps) {
  const { isWritable, probeStorage, isImageWorkerFailing, areRatesStale, host, log } = deps
  let last: { at: number; probes: ReturnType<typeof probe> } | null = null
  let known: Partial<Readiness> = {}
  return async (): Promise<Readiness> => {
    const at = performance.now()
    if (last === null || at - last.at > PROBE_EVERY) last = { at, probes: probe() }
    const parts: Readiness = {
      ...(await last.probes),
      imageWorker: isImageWorkerFailing() ? 'failing' : 'ok',
      rates: areRatesStale === null ? 'off' : await ratesState(areRatesStale),
      certificate: certificatePart(host.certificate),
      backup: await backupPart(host.backup),
      ...(deps.instance === null ? {} : { instance: deps.instance }),
    }
    noteChanges(parts)
    return parts
  }

  async function probe(): Promise<Pick<Readiness, 'database' | 'storage'>> {
    const tooLate = Bun.sleep(PROBE_TIMEOUT).then(() => new Error('the storage does not answer'))
    const probed = probeStorage().then(
      () => null,
      (err: Error) => err,
    )
    const storage = await Promise.race([probed, tooLate])
    if (storage && known.storage !== 'failing') log.warn({ err: storage }, 'nothing can be stored')
    return {
      database: (await isWritable()) ? 'ok' : 'failing',
      storage: storage ? 'failing' : 'ok',
    }
  }

  function noteChanges(parts: Readiness) {
    for (const [part, state] of Object.entries(parts)) {
      const before = known[part as keyof Readiness]
      if (state === before) continue
      if (state === 'failing') log.warn({ part, state }, 'a part is not ready')
      else if (before === 'failing') log.info({ part, state }, 'a part is ready again')
    }
    known = parts
  }
}

function certificatePart(certificate: HostState['certificate']): Part {
  if (certificate === null) return 'off'
  return certificate().isFailing ? 'failing' : 'ok'
}

async function backupPart(backup: HostState['backup']): Promise<Part> {
  const { isScheduled, fault } = await backup()
  if (!isScheduled) return 'off'
  return fault === null ? 'ok' : 'failing'
}

function ratesState(areStale: () => Promise<boolean>): Promise<Part> {
  return areStale().then(
    (isStale) => (isStale ? 'stale' : 'ok'),
    () => 'failing',
  )
}
