import type { Config } from '../config/config.ts'
import type { Figures } from '../features/billing/business/figures.ts'
import type { EventSearch } from '../features/billing/inbox/event-search.ts'
import type { Plans } from '../features/plans/service.ts'
import type { Rates } from '../features/rates/service.ts'
import type { Settings } from '../features/settings/service.ts'
import type { Users } from '../features/users/users.ts'
import type { Log } from '../lib/log/log.ts'
import type { OpenDb } from '../platform/db/db.ts'
import type { Registry } from '../platform/metrics/registry.ts'
import type { HistoryDb } from '../platform/metrics/schema.ts'
import type { HostState } from './host-state.ts'

export type Monitored = {
  config: Config
  db: OpenDb<unknown> & HistoryDb
  registry: Registry
  version: string
  /** When the server started; null for a command that runs without a server. */
  servingSince: Date | null
  users: Users
  eventSearch: EventSearch
  figures: Figures
  outbox: { count: () => Promise<number> }
  /** Absent from a server without outgoing webhooks. */
  webhooks?: {
    health: {
      listFailed: () => Promise<{ id: string; host: string; reason: string | null }[]>
      countWaiting: () => Promise<{ id: string; url: string; waiting: number }[]>
    }
  }
  rates: Rates
  settings: Settings
  plans: Plans
  host: HostState
  now: () => Date
  log: Log
}
