import { AppError } from '../../lib/errors.ts'
import { freeSpace } from '../../lib/free-space.ts'
import type { OpenDb } from '../../platform/db/db.ts'
import type { Readiness } from '../../platform/http/health.ts'
import type { HostState } from './host-state.ts'

type StatusDeps = {
  version: string
  servingSince: Date | null
  dataDir: string
  db: Pick<OpenDb<unknown>, 'place' | 'size'>
  countUsers: () => Promise<{ users: number; sessions: number }>
  countEvents: () => Promise<{ events: number; failed: number }>
  countWaiting: () => Promise<number>
  /** When the rates that are served were published. */
  ratesUpdatedAt: () => Promise<string>
  readiness: () => Promise<Readiness>
  backup: HostState['backup']
  now: () => Date
}

export type Status = Awaited<ReturnType<ReturnType<typeof createStatus>>>

/**
 * How the service is, at a glance. Sizes in bytes; `since` is null when no server runs, and what only the database
 * knows is null while that does not answer.
 */
export function createStatus(deps: StatusDeps) {
  const { version, servingSince, dataDir, db, now } = deps
  return async () => {
    const { bytes: freeBytes } = await freeSpace(dataDir)
    // Side by side: a silent server is waited for once.
    const [parts, people, events, messagesWaiting, databaseBytes, ratesUpdatedAt, backup] =
      await Promise.all([
        deps.readiness(),
        orNull(deps.countUsers()),
        orNull(deps.countEvents()),
        orNull(deps.countWaiting()),
        orNull(db.size()),
        orNull(deps.ratesUpdatedAt()),
        deps.backup(),
      ])
    // What `/ready` says may be a moment old.
    const ready = people === null ? { ...parts, database: 'failing' as const } : parts
    const isReady = ready.database === 'ok' && ready.storage === 'ok'
    return {
      version,
      since: servingSince?.toISOString() ?? null,
      isReady: isReady && servingSince !== null,
      ready,
      ...(people ?? { users: null, sessions: null }),
      ...(events ?? { events: null, failed: null }),
      messagesWaiting,
      dataDir,
      database: db.place,
      databaseBytes,
      freeBytes,
      backup,
      ratesUpdatedAt,
      ratesAgeHours: ratesUpdatedAt === null ? null : ageInHours(ratesUpdatedAt),
    }
  }

  function ageInHours(date: string): number {
    return Math.round((now().getTime() - Date.parse(date)) / 360_000) / 10
  }
}

/** Null where the database does not answer. */
function orNull<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((error) => {
    if (error instanceof AppError && error.code === 'unavailable') return null
    throw error
  })
}
