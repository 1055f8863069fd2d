import { eq } from 'drizzle-orm'
import { AppError, invalidField } from '../../lib/errors.ts'
import type { Log } from '../../lib/log/log.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import {
  type Condition,
  type ConditionList,
  findLimit,
} from '../../platform/conditions/condition.ts'
import { createMeasurements, type ReadMetric } from '../../platform/conditions/measurements.ts'
import type { Tx } from '../../platform/db/db.ts'
import { prepareUpsert } from '../../platform/db/prepared.ts'
import type { AlertsDb } from './schema.ts'

/** A firing or resolved alert, as webhooks and e-mails describe it. `value` is null if it is unknown. */
type Alert = {
  rule: string
  title: string
  severity: string
  value: number | null
  threshold: number
  unit: string
}

type AlertsDeps = {
  db: AlertsDb
  readMetric: ReadMetric
  conditions: ConditionList
  /** Queues an e-mail to the operators, if they have an address. */
  alertOperators: (tx: Tx, subject: string, text: string) => Promise<void>
  announce: (tx: Tx, type: 'alert.fired' | 'alert.resolved', alert: Alert) => Promise<void>
  hasAddress: boolean
  now: () => Date
  log: Log
}

type Row = AlertsDb['tables']['alerts']['$inferSelect']
type Setting = { isOn?: boolean | undefined; threshold?: number | null | undefined }

export type Alerts = ReturnType<typeof createAlerts>

/** How long a firing alert's condition must no longer hold before it is resolved. */
const CALM_MS = 5 * MINUTE_MS

type Rule = Condition & { name: string }

/** `lastBreachedHere`: when this instance last found, before `at`, that the condition holds. */
type Measured = { value: number | null; at: Date; lastBreachedHere: Date | undefined }

/** Notifies operators once when something needs their attention, and once when it no longer does. */
export function createAlerts(deps: AlertsDeps) {
  const { db, readMetric, alertOperators, announce, hasAddress, now, log } = deps
  const rules = Object.entries(deps.conditions).map(
    ([name, condition]): Rule => ({ name, ...condition }),
  )
  const { alerts } = db.tables
  const store = prepareUpsert(db, alerts)
  const measurements = createMeasurements(readMetric, now)
  /** When this instance last found each rule's condition to hold, by rule name. */
  const breachedHere = new Map<string, Date>()
  return { evaluate, list, set, sendTest }

  async function evaluate() {
    const rows = await readRows()
    const changed: { rule: Rule; measured: Measured }[] = []
    for (const rule of rules) {
      const row = rows.get(rule.name) ?? defaultRow(rule)
      if (!row.isOn) continue
      const value = await measure(rule)
      if (value === undefined) continue
      const measured = { value, at: now(), lastBreachedHere: breachedHere.get(rule.name) }
      if (isBreached(rule, value, row.threshold ?? findLimit(rule)))
        breachedHere.set(rule.name, measured.at)
      else breachedHere.delete(rule.name)
      if (!Bun.deepEquals(stateAfter(rule, row, measured), row)) changed.push({ rule, measured })
    }
    if (changed.length === 0) return
    await db.write(async (tx) => {
      // All dates use the time of the write: two instances may write in a different order than they measured.
      const at = now()
      for (const { rule, measured } of changed) {
        if (breachedHere.has(rule.name)) breachedHere.set(rule.name, at)
        // An operator or another instance may have changed the row since it was read.
        const row = await findRow(tx, rule)
        const next = stateAfter(rule, row, { ...measured, at })
        if (!row.isOn || Bun.deepEquals(next, row)) continue
        await store(tx, next)
        if ((row.firedAt === null) !== (next.firedAt === null)) await announceState(tx, rule, next)
      }
    })
  }

  /** Undefined if the rule cannot be measured; its alert then stays unchanged. */
  async function measure(rule: Rule): Promise<number | null | undefined> {
    return rule.measure.read(measurements, now()).catch((err) => {
      log.warn({ rule: rule.name, err }, 'an alert rule could not be measured')
      return undefined
    })
  }

  /** Each instance measures for itself, but all share one state: a condition holds while it holds on any instance. */
  function stateAfter(rule: Rule, row: Row, { value, at, lastBreachedHere }: Measured): Row {
    // A time in the future comes from a clock that was ahead.
    const since = (stored: Date | null) => (stored !== null && stored <= at ? stored : at)
    const holds = isBreached(rule, value, row.threshold ?? findLimit(rule))
    const isElsewhere =
      isRecent(row.breachedAt, at) && Number(row.breachedAt) > Number(lastBreachedHere ?? 0)
    if (!holds && isElsewhere) return row
    const breachedAt = holds ? at : null
    const breachedSince = holds ? since(row.breachedSince) : null
    if (row.firedAt === null) {
      const isDue =
        breachedSince !== null &&
        at.getTime() - breachedSince.getTime() >= (rule.minutes ?? 0) * MINUTE_MS
      return {
        ...row,
        value,
        breachedAt,
        breachedSince,
        firedAt: isDue ? at : null,
        calmSince: null,
      }
    }
    const calmSince = holds ? null : since(row.calmSince)
    const isOver = calmSince !== null && at.getTime() - calmSince.getTime() >= CALM_MS
    const next = { ...row, value, breachedAt, breachedSince }
    return isOver ? { ...next, firedAt: null, calmSince: null } : { ...next, calmSince }
  }

  async function announceState(tx: Tx, rule: Rule, { firedAt, value, threshold }: Row) {
    const { name, title, severity, advice } = rule
    const { unit = '' } = rule.limit
    const limit = threshold ?? findLimit(rule)
    const alert = { rule: name, title, severity, value, threshold: limit, unit }
    await announce(tx, firedAt === null ? 'alert.resolved' : 'alert.fired', alert)
    const measured = value === null || unit === '' ? '' : ` (${formatValue(value)} ${unit})`
    if (firedAt === null) await alertOperators(tx, `Resolved: ${title}`, 'The alert has ended.')
    else await alertOperators(tx, `${title}${measured}`, `${advice} Rule: ${name}.`)
  }

  /** The rules with their settings and states, and whether an e-mail address for alerts is set. */
  async function list() {
    const rows = await readRows()
    const shown = rules.map((rule) => {
      const row = rows.get(rule.name) ?? defaultRow(rule)
      const { name, title, advice, severity, minutes = 0 } = rule
      return {
        name,
        title,
        advice,
        severity,
        minutes,
        unit: rule.limit.unit ?? '',
        isMinimum: 'below' in rule.limit,
        isOn: row.isOn,
        threshold: row.threshold ?? findLimit(rule),
        isDefault: row.threshold === null,
        value: row.value,
        breachedSince: row.breachedSince?.toISOString() ?? null,
        firedAt: row.firedAt?.toISOString() ?? null,
      }
    })
    return { hasAddress, rules: shown }
  }

  /** Turns a rule on or off, or changes its threshold; null restores the default. Throws `not_found`. */
  async function set(name: string, { isOn, threshold }: Setting) {
    const rule = rules.find((one) => one.name === name)
    if (!rule) throw new AppError('not_found', `There is no alert rule ${name}.`)
    if (typeof threshold === 'number' && !(Number.isFinite(threshold) && threshold >= 0))
      throw invalidField('threshold', 'must be a number of 0 or more')
    return db.write(async (tx) => {
      const row = await findRow(tx, rule)
      const settings = (one: Row) => ({
        isOn: one.isOn,
        threshold: one.threshold ?? findLimit(rule),
      })
      const wanted = {
        ...row,
        ...(isOn === undefined ? {} : { isOn }),
        ...(threshold === undefined ? {} : { threshold }),
      }
      const isSame = Bun.deepEquals(settings(wanted), settings(row))
      // A changed rule starts over, and its alert is resolved.
      const next = isSame
        ? wanted
        : { ...wanted, breachedSince: null, breachedAt: null, firedAt: null, calmSince: null }
      await store(tx, next)
      if (!isSame && row.firedAt !== null) await announceState(tx, rule, next)
      return { before: settings(row), after: settings(next) }
    })
  }

  /** Sends a test alert in the same way as a firing alert. */
  async function sendTest() {
    const title = 'This is a test alert'
    const alert = { rule: 'test', title, severity: 'warn', value: null, threshold: 0, unit: '' }
    await db.write(async (tx) => {
      await announce(tx, 'alert.fired', alert)
      await alertOperators(tx, title, 'You receive alerts at this address.')
    })
    return { isMailed: hasAddress }
  }

  async function readRows(): Promise<Map<string, Row>> {
    return new Map((await db.read.select().from(alerts)).map((row) => [row.rule, row]))
  }

  async function findRow(tx: Tx, rule: Rule): Promise<Row> {
    const [row] = await tx.select().from(alerts).where(eq(alerts.rule, rule.name))
    return row ?? defaultRow(rule)
  }
}

function defaultRow({ name }: Rule): Row {
  const unset = {
    threshold: null,
    breachedSince: null,
    breachedAt: null,
    firedAt: null,
    calmSince: null,
    value: null,
  }
  return { rule: name, isOn: true, ...unset }
}

/** Whether another instance may still find the condition to hold: each measures once a minute. */
function isRecent(breachedAt: Date | null, at: Date): boolean {
  return breachedAt !== null && Math.abs(at.getTime() - breachedAt.getTime()) < 1.5 * MINUTE_MS
}

/** At most one decimal. */
export function formatValue(value: number): string {
  return String(Math.round(value * 10) / 10)
}

/** `value` is null if the condition does not apply. */
function isBreached({ limit }: Condition, value: number | null, threshold: number): boolean {
  return value !== null && ('above' in limit ? value > threshold : value < threshold)
}
