import type { Config } from '../config/config.ts'
import type { Log } from '../lib/log/log.ts'
import type { OpenDb } from '../platform/db/db.ts'
import type { HostState } from './host-state.ts'

/** Everything that monitoring reads. */
export type MonitoringDeps = {
  config: Pick<Config, 'dataDir' | 'instance' | 'filesUrl'>
  db: Pick<OpenDb<unknown>, 'place' | 'size' | 'probe' | 'writeStats' | 'clockSkew'>
  version: string
  /** When the server started; null for a command that runs without one. */
  servingSince: Date | null
  users: { count: () => Promise<{ users: number; sessions: number }> }
  eventSearch: {
    countStored: () => Promise<{ events: number; failed: number }>
    countFailed: () => Promise<number>
  }
  stores: {
    health: {
      notificationAges: () => Promise<Record<string, number>>
      historyLags: () => Promise<Record<string, number>>
      isKeyRefused: () => Promise<boolean | null>
      playNotificationAges: () => Promise<Record<string, number>>
      isPlayAccountRefused: () => boolean | null
      countPlayWaiting: () => Promise<number | null>
      unacknowledgedAge: () => Promise<number | null>
    }
  }
  outbox: { count: () => Promise<number> }
  webhooks: {
    health: {
      /** Attempts since the start, by outcome. */
      attempts: () => Record<string, number>
      queueAge: () => Promise<number>
      countFailed: () => Promise<number>
      listFailed: () => Promise<{ id: string; host: string; reason: string | null }[]>
    }
  }
  /** `updatedAt`: when the rates in use were published; `isStale` is null when they are not refreshed. */
  rates: {
    readIfServed: () => Promise<{ updatedAt: string } | null>
    isStale: (() => Promise<boolean>) | null
  }
  /** Throws an error that gives the reason when nothing can be stored. */
  probeStorage: () => Promise<void>
  /** `describe`: why this server may not delete from the object store; null if it may. */
  storeOwner: { describe: () => Promise<string | null> }
  orphans: { countDeleted: () => number; countUndeletable: () => number }
  imageQueue: { isFailing: () => boolean; countUnfinished: () => number }
  /** `warn`: a sentence for each rule of the app's settings that can never match. */
  settings: { warn: () => Promise<string[]>; read: () => Promise<object> }
  /** `warn`: a sentence for each plan whose duration cannot be read. */
  plans: { warn: () => Promise<string[]>; list: () => Promise<{ code: string }[]> }
  /** `unconverted`: the currencies of payments without a rate. */
  figures: { read: (query: object) => Promise<{ unconverted: string[] }> }
  changes: { countStreams: () => number }
  host: HostState
  now: () => Date
  log: Log
}
