import type { StripeSettings } from '../../../config/subjects/stripe.ts'
import type { Log } from '../../../lib/log/log.ts'
import type { Reader } from '../../../platform/db/db.ts'
import type { ExistingUsers } from '../../../platform/user-table.ts'
import type { Catalogue } from '../../billing/access/plan-matching.ts'
import type { PlanLike, Subscription } from '../../billing/access/subscription.ts'
import type { EventInbox } from '../../billing/inbox/event-inbox.ts'
import type { StoreApps } from '../checks/apps.ts'
import type { Claims } from '../purchases/claims.ts'
import type { StoreSnapshots } from '../purchases/snapshots.ts'
import type { StoresDb } from '../schema.ts'
import type { StripeApi } from './api/api.ts'
import type { StripeObjects } from './refresh/objects.ts'

export type SoldPlan = {
  code: string
  type: string
  source: string
  trialDays: number
  isEnterprise: boolean
  paymentPriceId: string
  otherProductIds?: string[]
  price: number
  currency: string
}

/** What all parts of the Stripe integration share. */
export type StripeContext = {
  db: StoresDb
  api: StripeApi
  settings: StripeSettings
  objects: StripeObjects
  storeApps: StoreApps
  eventInbox: Pick<EventInbox, 'recordOnce'>
  claims: Claims
  snapshots: StoreSnapshots
  listPlans: (wanted: string[]) => Promise<Catalogue<PlanLike & SoldPlan>>
  readSubscription: Subscription<PlanLike>['read']
  existingUsers: ExistingUsers
  /** The user's verified address; null for none. */
  findEmail: (userId: string) => Promise<string | null>
  isGuest: (from: Reader, userId: string) => Promise<boolean>
  /** Identifies this server's customers at Stripe. */
  serverId: string
  /** The server's public URL; null if it is not set. */
  publicUrl: string | null
  ignoresSandbox: boolean
  /** Overridden only in tests. */
  requestsPerSecond?: number | undefined
  now: () => Date
  newId: () => string
  log: Log
}
