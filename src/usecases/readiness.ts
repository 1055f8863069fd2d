import type { Part, Readiness } from '../http/health.ts'

type ReadinessDeps = {
  isWritable: () => Promise<boolean>
  /** Throws when nothing more should be stored. */
  checkSpace: () => Promise<void>
  isImageWorkerFailing: () => boolean
  /** Null when rates are not refreshed. */
  areRatesStale: (() => Promise<boolean>) | null
}

/** Whether each part of the service can do its work. */
export function createReadiness(deps: ReadinessDeps) {
  const { isWritable, checkSpace, isImageWorkerFailing, areRatesStale } = deps
  return async (): Promise<Readiness> => ({
    database: (await isWritable()) ? 'ok' : 'failing',
    storage: await checkSpace().then(
      () => 'ok',
      () => 'failing',
    ),
    imageWorker: isImageWorkerFailing() ? 'failing' : 'ok',
    rates: areRatesStale === null ? 'off' : await ratesState(areRatesStale),
  })
}

function ratesState(areStale: () => Promise<boolean>): Promise<Part> {
  return areStale().then(
    (isStale) => (isStale ? 'stale' : 'ok'),
    () => 'failing',
  )
}
