import type { StoreSettings } from '../../../config/subjects/stores.ts'
import type { Log } from '../../../lib/log/log.ts'
import type { EventInbox } from '../../billing/inbox/event-inbox.ts'
import type { StoreApps } from '../checks/apps.ts'
import type { Claims } from '../purchases/claims.ts'
import type { StoreSnapshots } from '../purchases/snapshots.ts'
import type { StoresDb } from '../schema.ts'
import type { PlayStore } from './api/play-store.ts'
import type { PendingClaims } from './refresh/pending-claims.ts'
import type { PlayPurchases } from './refresh/purchases.ts'

/** What all parts of the Google Play integration share. */
export type PlayContext = {
  db: StoresDb
  play: PlayStore
  purchases: PlayPurchases
  settings: StoreSettings
  sealKey: Uint8Array
  publicUrl: string | null
  ignoresSandbox: boolean
  storeApps: StoreApps
  eventInbox: Pick<EventInbox, 'recordOnce'>
  claims: Claims
  pendingClaims: PendingClaims
  snapshots: StoreSnapshots
  /** At most this many purchases a second; overridden only in tests. */
  requestsPerSecond?: number | undefined
  now: () => Date
  newId: () => string
  log: Log
}
