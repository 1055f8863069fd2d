import { and, desc, eq, gte, lt } from 'drizzle-orm'
import type { AuditValues, OperatorsDb } from './schema.ts'

/** What was done, by whom and to what. */
type AuditEntry = {
  /** The name of an operator; null for a command. */
  operator: string | null
  /** The address of the browser, or the user of the machine. */
  origin: string
  action: string
  target?: string | null
  before?: AuditValues | null
  after?: AuditValues | null
  requestId?: string | null
}

export type AuditFilter = {
  action?: string | undefined
  operator?: string | undefined
  target?: string | undefined
  /** Entries of this instant and later. */
  since?: Date | undefined
  /** The page after this id. */
  after?: string | undefined
  limit?: number | undefined
}

type AuditDeps = { db: OperatorsDb; keptDays: number; now: () => Date; newId: () => string }

const PAGE_SIZE = 50
const DAY = 24 * 60 * 60 * 1000
const MASK = '[secret]'
/** Names of values that nobody reads again. */
const SECRET = /password|secret|token|^code$|recoveryCodes|hash|signature|private/i
/** Longer text is cut in the log, in characters. */
const TEXT_LIMIT = 2_000

/** The log of what operators do: entries are added, read, and removed after `keptDays`. */
export function createAudit({ db, keptDays, now, newId }: AuditDeps) {
  const { auditEntries } = db.tables
  return { record, list, sweep }

  async function record(entry: AuditEntry) {
    const { operator, origin, action, target, before, after, requestId } = entry
    await db.write(async (tx) => {
      await tx.insert(auditEntries).values({
        id: newId(),
        at: now(),
        operator,
        origin,
        action,
        target: target ?? null,
        before: before ? masked(before) : null,
        after: after ? masked(after) : null,
        requestId: requestId ?? null,
      })
    })
  }

  /** The newest entries first; `next` is the `after` of the following page, null on the last one. */
  async function list({ action, operator, target, since, after, limit = PAGE_SIZE }: AuditFilter) {
    const rows = await db.read
      .select()
      .from(auditEntries)
      .where(
        and(
          action === undefined ? undefined : eq(auditEntries.action, action),
          operator === undefined ? undefined : eq(auditEntries.operator, operator),
          target === undefined ? undefined : eq(auditEntries.target, target),
          since === undefined ? undefined : gte(auditEntries.at, since),
          after === undefined ? undefined : lt(auditEntries.id, after),
        ),
      )
      .orderBy(desc(auditEntries.id))
      .limit(limit + 1)
    const entries = rows.slice(0, limit)
    return { entries, next: rows.length > limit ? (entries.at(-1)?.id ?? null) : null }
  }

  async function sweep() {
    const oldest = new Date(now().getTime() - keptDays * DAY)
    await db.write(async (tx) => {
      await tx.delete(auditEntries).where(lt(auditEntries.at, oldest))
    })
  }
}

/** The values without secrets, at any depth. */
function masked(values: AuditValues): AuditValues {
  const entries = Object.entries(values)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, SECRET.test(name) ? MASK : shown(value)]),
  )
}

function shown(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length > TEXT_LIMIT ? `${value.slice(0, TEXT_LIMIT)}…` : value
  if (Array.isArray(value)) return value.map(shown)
  return value !== null && typeof value === 'object' ? masked(value as AuditValues) : value
}
