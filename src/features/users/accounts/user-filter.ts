import { and, gte, lt } from 'drizzle-orm'
import { ACCESS_STATUSES, type AccessStatus } from '../../../lib/access-status.ts'
import { PLATFORMS, type Platform } from '../../../lib/app-platforms.ts'
import { invalidField } from '../../../lib/errors.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { equals } from '../../../platform/db/key-ranges.ts'
import type { Condition } from '../../../platform/lists/sources.ts'
import { GUESTS, NOT_GUESTS, type UsersDb } from '../schema.ts'

/** A user must match all filters. `createdTo` and `notSeenSince` are exclusive. */
export type UserFilter = {
  status?: AccessStatus | undefined
  plan?: string | undefined
  guest?: boolean | undefined
  platform?: Platform | undefined
  country?: string | undefined
  createdFrom?: Date | undefined
  createdTo?: Date | undefined
  seenSince?: Date | undefined
  notSeenSince?: Date | undefined
}

/** The filters as text, from the console or the command line. Days are in UTC. */
export type FilterTexts = { [name in keyof typeof FILTERS]?: string | undefined }

/** The filters, and what each value means. */
export const FILTERS = {
  status: ACCESS_STATUSES.join(', '),
  plan: 'the code of a plan',
  guest: 'true or false',
  platform: PLATFORMS.join(', '),
  country: 'a country code such as BR',
  createdFrom: 'a day such as 2026-07-31',
  createdTo: 'a day such as 2026-07-31',
  seenWithin: 'a number of days',
  notSeenFor: 'a number of days',
}

const MAX_DAYS = 3_650

/** Throws `validation_failed` for an invalid value. */
export function readFilter(texts: FilterTexts, now: Date): UserFilter {
  const { status, plan, guest, platform, country } = texts
  const createdTo = readDay('createdTo', texts.createdTo)
  return {
    status: readChoice('status', ACCESS_STATUSES, status),
    plan,
    guest:
      guest === undefined ? undefined : readChoice('guest', ['true', 'false'], guest) === 'true',
    platform: readChoice('platform', PLATFORMS, platform),
    country: country?.toUpperCase(),
    createdFrom: readDay('createdFrom', texts.createdFrom),
    createdTo: createdTo && new Date(createdTo.getTime() + DAY_MS),
    seenSince: readDaysAgo('seenWithin', texts.seenWithin, now),
    notSeenSince: readDaysAgo('notSeenFor', texts.notSeenFor, now),
  }
}

export function isEmpty(filter: UserFilter): boolean {
  return Object.values(filter).every((value) => value === undefined)
}

export function toConditions(users: UsersDb['tables']['users'], filter: UserFilter): Condition[] {
  const { guest, platform, country, createdFrom, createdTo, seenSince, notSeenSince } = filter
  const { createdAt, lastSeenAt } = users
  const isSeen = [
    seenSince && gte(lastSeenAt, seenSince),
    notSeenSince && lt(lastSeenAt, notSeenSince),
  ]
  const isCreated = [
    createdFrom && gte(createdAt, createdFrom),
    createdTo && lt(createdAt, createdTo),
  ]
  const isGuest = guest === undefined ? undefined : guest ? GUESTS(users) : NOT_GUESTS(users)
  return [
    { name: 'seen', where: and(...isSeen), isIndexed: true, sortedBy: lastSeenAt },
    { name: 'country', where: equals(users.country, country), isIndexed: true },
    { name: 'created', where: and(...isCreated), isIndexed: true, sortedBy: createdAt },
    { name: 'platform', where: equals(users.platform, platform), isIndexed: true },
    { name: 'guest', where: isGuest, isIndexed: true },
  ]
}

function readChoice<Choice extends string>(
  name: keyof typeof FILTERS,
  choices: readonly Choice[],
  text: string | undefined,
): Choice | undefined {
  const found = choices.find((choice) => choice === text)
  if (text !== undefined && found === undefined) throw invalidFilter(name)
  return found
}

function readDay(name: keyof typeof FILTERS, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const day = new Date(`${text}T00:00:00.000Z`)
  // `2026-02-31` would be a day in March.
  if (Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text)
    throw invalidFilter(name)
  return day
}

/** The start of the day `text` days ago. */
function readDaysAgo(name: keyof typeof FILTERS, text: string | undefined, now: Date) {
  if (text === undefined) return undefined
  const days = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (days < 1 || days > MAX_DAYS) throw invalidFilter(name)
  const today = Math.floor(now.getTime() / DAY_MS)
  return new Date((today - days) * DAY_MS)
}

function invalidFilter(name: keyof typeof FILTERS) {
  return invalidField(name, `must be ${FILTERS[name]}`)
}
