// The answers of the server, after JSON. Types alone: nothing of the server is in the page.
import type { createUsage } from '../features/attachments/usage.ts'
import type { Timeline as TimelineService } from '../features/billing/access/timeline.ts'
import type { EventSearch } from '../features/billing/inbox/event-search.ts'
import type { Operators } from '../features/operators/operators.ts'
import type { Rates as RatesService } from '../features/rates/service.ts'
import type { StoredSettings } from '../features/settings/model.ts'
import type { AccountSummary, FoundUsers } from '../features/users/accounts/directory.ts'
import type { Profile } from '../features/users/profile/service.ts'
import type { Users } from '../features/users/users.ts'
import type { Sample } from '../platform/history/schema.ts'
import type { Publication } from '../platform/publications/publications.ts'
import type { Backups as BackupsService } from '../usecases/admin/backups.ts'
import type { Overview as OverviewReply } from '../usecases/admin/health.ts'
import type { Json } from './api.ts'

type Answer<T extends (...given: never[]) => Promise<unknown>> = Json<Awaited<ReturnType<T>>>

export type DoorState = { appName: string; hasOperators: boolean; isSignedIn: boolean }
export type Role = 'reader' | 'operator' | 'owner'
export type Me = {
  name: string
  role: Role
  provenAt: string
  session: string
  sessions: Answer<Operators['sessions']['list']>
  passkeys: Answer<Operators['passkeys']['list']>
}
export type OperatorList = Answer<Operators['accounts']['list']>
export type AuditPage = Answer<Operators['audit']['list']>

export type PeoplePage = FoundUsers
export type Person = {
  user: Answer<Profile['read']>
  account: Answer<Users['accounts']['describe']>
  identities: Answer<Users['identities']['list']>
  sessions: Answer<Users['devices']['list']>
  limits: { name: string; until: string }[]
}
export type FilesPage = {
  records: {
    key: string
    type: string
    fileName: string
    itemType: string
    size: number
    url: string
    createdAt: string
  }[]
  next: string | null
}
export type Usage = Answer<ReturnType<typeof createUsage>['read']>

export type EventsPage = Answer<EventSearch['find']>
export type BillingEvent = EventsPage['events'][number] & {
  body: string
  access: string | null
  person: AccountSummary | null
}
export type Timeline = Answer<TimelineService['read']>

export type Settings = StoredSettings
export type Features = StoredSettings['features']
export type Edition<T> = { version: number; content: T; schema: Schema }
export type History = { versions: Publication[]; next: number | null }

/** As much of JSON schema as the forms need. */
export type Schema = {
  type?: string
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  patternProperties?: Record<string, Schema>
  maxLength?: number
  minimum?: number
}

export type Rates = Answer<RatesService['read']> & Answer<RatesService['describeFeed']>
export type Backups = Answer<BackupsService['list']>
export type Overview = Json<OverviewReply>
export type Samples = (Sample & { at: string })[]
export type Keys = {
  keys: { use: string; state: string; kid: string; from: string | null; until: string | null }[]
  lost: Record<string, string>
}
