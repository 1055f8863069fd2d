import { AppError } from '../lib/errors.ts'
import { freeSpace } from '../lib/files/free-space.ts'
import { isReady, type Readiness } from '../platform/http/health.ts'
import type { Tallies } from '../platform/metrics/tallies.ts'
import { groupByEndpoint, isCalledByApps } from './endpoints.ts'
import type { Monitored } from './monitored.ts'

const SLOWEST = 3

export type Status = Awaited<ReturnType<ReturnType<typeof createStatus>>>

/** Sizes in bytes; `since` is null if no server is running. Values are null while the database does not respond. */
export function createStatus(
  deps: Monitored,
  readiness: () => Promise<Readiness>,
  endpoints: Tallies['list'],
) {
  const { version, servingSince, db, now } = deps
  const { dataDir } = deps.config
  return async () => {
    const { bytes: freeBytes } = await freeSpace(dataDir)
    // Read concurrently, so that we wait for an unresponsive database only once.
    const [parts, users, events, messagesWaiting, databaseBytes, rates, backup, recent] =
      await Promise.all([
        readiness(),
        orNull(deps.users.directory.count()),
        orNull(deps.eventSearch.countStored()),
        orNull(deps.outbox.count()),
        orNull(db.size()),
        orNull(deps.rates.readIfServed()),
        deps.host.backup(),
        orNull(endpoints(1)),
      ])
    // The readiness may be a second old.
    const ready = users === null ? { ...parts, database: 'failing' as const } : parts
    return {
      version,
      since: servingSince?.toISOString() ?? null,
      isReady: isReady(ready) && servingSince !== null,
      ready,
      ...(users ?? { users: null, sessions: null }),
      ...(events ?? { events: null, failed: null }),
      messagesWaiting,
      dataDir,
      database: db.place,
      databaseBytes,
      freeBytes,
      backup,
      ratesUpdatedAt: rates?.updatedAt ?? null,
      ratesAgeHours: rates && ageInHours(rates.updatedAt),
      /** In the last hour. */
      slowestEndpoints:
        recent && groupByEndpoint(recent.figures).filter(isCalledByApps).slice(0, SLOWEST),
    }
  }

  function ageInHours(date: string): number {
    return Math.round((now().getTime() - Date.parse(date)) / 360_000) / 10
  }
}

/** Null while the database does not respond. */
function orNull<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((error) => {
    if (error instanceof AppError && error.code === 'unavailable') return null
    throw error
  })
}
