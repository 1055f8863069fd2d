import { statfs } from 'node:fs/promises'
import type { OpenDb } from '../../db/db.ts'
import type { Readiness } from '../../http/health.ts'
import type { HostState } from './host-state.ts'

type StatusDeps = {
  version: string
  servingSince: Date | null
  dataDir: string
  db: Pick<OpenDb<unknown>, 'place' | 'size'>
  countPeople: () => Promise<{ users: number; sessions: number }>
  countEvents: () => Promise<{ events: number; failed: number }>
  countWaiting: () => Promise<number>
  /** When the rates that are served were published. */
  ratesUpdatedAt: () => Promise<string>
  readiness: () => Promise<Readiness>
  backup: HostState['backup']
  now: () => Date
}

export type Status = Awaited<ReturnType<ReturnType<typeof createStatus>>>

/** How the service is, at a glance. Sizes in bytes; `since` is null when no server runs. */
export function createStatus(deps: StatusDeps) {
  const { version, servingSince, dataDir, db, now } = deps
  return async () => {
    const ratesUpdatedAt = await deps.ratesUpdatedAt()
    const { bavail, bsize } = await statfs(dataDir)
    const ready = await deps.readiness()
    const isReady = ready.database === 'ok' && ready.storage === 'ok'
    return {
      version,
      since: servingSince?.toISOString() ?? null,
      isReady: isReady && servingSince !== null,
      ready,
      ...(await deps.countPeople()),
      ...(await deps.countEvents()),
      messagesWaiting: await deps.countWaiting(),
      dataDir,
      database: db.place,
      databaseBytes: await db.size(),
      freeBytes: bavail * bsize,
      backup: await deps.backup(),
      ratesUpdatedAt,
      ratesAgeHours: Math.round((now().getTime() - Date.parse(ratesUpdatedAt)) / 360_000) / 10,
    }
  }
}
