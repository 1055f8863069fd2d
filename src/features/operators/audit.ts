import { and, gte, lt } from 'drizzle-orm'
import { DAY_MS } from '../../lib/time/durations.ts'
import { equals } from '../../platform/db/key-ranges.ts'
import { findPage } from '../../platform/lists/find-page.ts'
import { type Condition, createSources } from '../../platform/lists/sources.ts'
import type { AuditValues, OperatorsDb } from './schema.ts'

/** An action, its operator and its target. */
type AuditEntry = {
  /** The name of an operator; null for a command. */
  operator: string | null
  /** The browser's IP address, or the machine's user for a command. */
  origin: string
  action: string
  target?: string | null
  before?: AuditValues | null
  after?: AuditValues | null
  requestId?: string | null
  /** The changed values are public: no field is masked, whatever its name. */
  isPublic?: boolean
}

type AuditFilter = {
  action?: string | undefined
  operator?: string | undefined
  target?: string | undefined
  /** Entries at or after this time. */
  since?: Date | undefined
  /** Entries before this time. */
  until?: Date | undefined
  /** Default: `-at`, newest first. */
  sort?: (typeof AUDIT_ORDERS)[number] | undefined
  /** The `next` of the previous page. */
  after?: string | undefined
  limit?: number | undefined
}

export const AUDIT_ORDERS = ['at', '-at'] as const

type AuditDeps = { db: OperatorsDb; retentionDays: number; now: () => Date; newId: () => string }

const PAGE_SIZE = 50
const MASK = '[secret]'
/** Names of secret fields, matched exactly: an app setting named `tokenShop` is not masked. */
const SECRET_FIELDS = new Set(
  [
    ['password', 'currentPassword', 'newPassword', 'passwordHash', 'hash'],
    ['token', 'tokens', 'accessToken', 'refreshToken', 'idToken', 'challengeToken'],
    ['secret', 'totpSecret', 'twoFactorSecret', 'code', 'recoveryCode', 'recoveryCodes'],
    ['signature', 'privateKey', 'authorizationCode', 'sealed'],
  ].flat(),
)
const NO_FIELDS = new Set<string>()
/** Longer texts are truncated in the log. */
const MAX_TEXT_LENGTH = 2_000

/** The audit log of operators' actions. Entries are deleted after `retentionDays`. */
export function createAudit({ db, retentionDays, now, newId }: AuditDeps) {
  const { auditEntries } = db.tables
  return { record, list, sweep }

  async function record(entry: AuditEntry) {
    const { operator, origin, action, target, before, after, requestId, isPublic } = entry
    const secretFields = isPublic ? NO_FIELDS : SECRET_FIELDS
    const redacted = (values: AuditValues) => redact(values, secretFields) as AuditValues
    await db.write(async (tx) => {
      await tx.insert(auditEntries).values({
        id: newId(),
        at: now(),
        operator,
        origin,
        action,
        target: target ?? null,
        before: before ? redacted(before) : null,
        after: after ? redacted(after) : null,
        requestId: requestId ?? null,
      })
    })
  }

  /** Newest first by default. */
  async function list({ after, limit = PAGE_SIZE, sort, ...filter }: AuditFilter) {
    const sources = createSources(
      {
        read: db.read,
        table: auditEntries,
        key: auditEntries.id,
        isDescending: sort !== 'at',
        isSmall: true,
      },
      toConditions(filter),
    )
    const { rows, next, total } = await findPage({ sources, after, limit, count: 'index' })
    return { entries: rows, next, total }
  }

  function toConditions({ action, operator, target, since, until }: AuditFilter): Condition[] {
    const { at } = auditEntries
    const name = action === undefined ? undefined : toCurrentName(action)
    return [
      { where: equals(auditEntries.action, name), isIndexed: true },
      { where: equals(auditEntries.operator, operator), isIndexed: true },
      { where: equals(auditEntries.target, target), isIndexed: true },
      { where: and(since && gte(at, since), until && lt(at, until)), isIndexed: false },
    ]
  }

  async function sweep() {
    const oldest = new Date(now().getTime() - retentionDays * DAY_MS)
    await db.write((tx) => tx.delete(auditEntries).where(lt(auditEntries.at, oldest)))
  }
}

type Entry = Awaited<ReturnType<ReturnType<typeof createAudit>['list']>>['entries'][number]

/** The ids in an entry that may belong to users: the target, and a purchase's owner before and after. */
export function listUserIds({ target, before, after }: Entry): (string | null)[] {
  const ids = [target, before?.['userId'], after?.['userId']]
  return ids.map((id) => (typeof id === 'string' ? id : null))
}

/** Earlier names of actions, which saved views and scripts may still use as filters. */
const CURRENT_NAMES: Record<string, string> = {
  'events.reconcile': 'users.refresh-purchases',
  'events.replay-many': 'events.replay-matching',
  'events.retry': 'events.replay-matching',
  'faqs.import': 'faqs.publish',
  'operators.role': 'operators.change-role',
  'plans.import': 'plans.publish',
  'purchases.ask': 'purchases.refresh',
  'purchases.give': 'purchases.link',
  'purchases.take-back': 'purchases.unlink',
  'settings.import': 'settings.publish',
  'users.note': 'users.add-note',
  'webhooks.resend': 'deliveries.resend',
}

function toCurrentName(action: string): string {
  const dotted = action.replace(' ', '.').replace(/^user\./, 'users.')
  return CURRENT_NAMES[dotted] ?? dotted
}

/** Masks secret fields at any depth and truncates long texts. */
function redact(value: unknown, secretFields: Set<string>): unknown {
  if (typeof value === 'string')
    return value.length > MAX_TEXT_LENGTH ? `${value.slice(0, MAX_TEXT_LENGTH)}…` : value
  if (Array.isArray(value)) return value.map((item) => redact(item, secretFields))
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([key, item]) => [key, secretFields.has(key) ? MASK : redact(item, secretFields)]),
  )
}
