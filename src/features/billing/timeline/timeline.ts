import { and, asc, desc, eq, inArray } from 'drizzle-orm'
import { type Difference, differencesBetween } from '../../../lib/differences.ts'
import { readStored } from '../inbox/event-log.ts'
import { type LineAccess, lineAccessAt } from '../lines/access.ts'
import type { OrderedEvent } from '../lines/event-order.ts'
import { foldLine, step } from '../lines/fold.ts'
import type { Line } from '../lines/line.ts'
import { type FoldedLine, lineIn } from '../projection/folding.ts'
import { planOf } from '../projection/plan-matching.ts'
import type { Environment, PlanLike, Subscription } from '../projection/subscription.ts'
import type { BillingDb } from '../schema.ts'
import { explainAccess, isEffectivelyForever } from './access-sentence.ts'

type TimelineDeps<Plan extends PlanLike> = {
  db: BillingDb
  subscription: Pick<Subscription<Plan>, 'holderOf'>
  /** The plans on sale, in the language that suits best of those that are wanted. */
  listPlans: (wanted: string[]) => Promise<{ plans: Plan[]; language: string }>
  now: () => Date
}

export type Timeline = ReturnType<typeof createTimeline>

/** An event of a line, and what it changed. */
type Entry = {
  eventId: string
  type: string
  at: string
  receivedAt: string
  outcome: string
  error: string | null
  changes: Difference[]
}

/** How many lines, and events of each, are shown: the newest ones. */
const LINES_SHOWN = 50
const EVENTS_SHOWN = 200
const TRANSFERS_SHOWN = 50
/** What every period has anew, and nobody asks about. */
const NOISE = new Set(['priceId', 'isTemporary'])
const TIMES = /At$/

/** What happened to the purchases of a person, event by event, by the same steps that the state is folded with. */
export function createTimeline<Plan extends PlanLike>(deps: TimelineDeps<Plan>) {
  const { db, subscription, listPlans, now } = deps
  const { billingEvents, subscriptions, transferIds } = db.tables
  return { read, explain, explainAfter }

  /** Why access is on or off now, in one sentence. */
  async function explain(userId: string, environment: Environment): Promise<string> {
    return (await judge(userId, environment)).sentence
  }

  /** The same of whom an event names, in its environment; null where it names nobody. */
  async function explainAfter(event: { appUserId: string | null; environment: string | null }) {
    const environment = event.environment === 'SANDBOX' ? 'sandbox' : 'production'
    return event.appUserId === null ? null : explain(event.appUserId, environment)
  }

  async function read(userId: string, environment: Environment) {
    const { sentence, lines, ids, heldBy } = await judge(userId, environment)
    const shown = []
    for (const line of lines.slice(0, LINES_SHOWN)) shown.push(await describe(line, lines))
    return {
      environment,
      sentence,
      ids,
      heldBy,
      lines: shown,
      hiddenLines: Math.max(0, lines.length - LINES_SHOWN),
      transfers: await transfersOf(ids),
    }
  }

  async function judge(userId: string, environment: Environment) {
    const { plans } = await listPlans(['en'])
    const holder = await subscription.holderOf(userId)
    const lines = holder ? await linesOf(holder.customerId, environment) : []
    const other = environment === 'production' ? 'sandbox' : 'production'
    const isHeld = holder !== null && holder.heldBy === null
    const hasOther = isHeld && (await linesOf(holder.customerId, other)).length > 0
    const price = (line: Line) => planOf(line, plans)?.price ?? line.price ?? 0
    const judged = lineAccessAt(lines, now().getTime(), price)
    const sentence = explainAccess({
      environment,
      isUnknown: holder === null,
      heldBy: holder?.heldBy ?? null,
      lines: judged,
      hasOther,
      planOf: (line) => planOf(line, plans)?.code ?? null,
    })
    return { sentence, lines: judged, ids: holder?.ids ?? [], heldBy: holder?.heldBy ?? null }
  }

  async function linesOf(customerId: string, environment: Environment) {
    const rows = await db.read
      .select({ lineKey: subscriptions.lineKey, state: subscriptions.state })
      .from(subscriptions)
      .where(
        and(
          eq(subscriptions.customerId, customerId),
          eq(subscriptions.environment, environment.toUpperCase()),
        ),
      )
      .orderBy(asc(subscriptions.lineKey))
      .limit(LINES_SHOWN * 10)
    return rows.map(({ lineKey, state }) => ({ ...lineIn(state as FoldedLine), lineKey }))
  }

  async function describe(line: LineAccess<Line & { lineKey: string }>, all: (typeof line)[]) {
    const { lineKey, productId, store, status, active, effectiveEnd, willRenew } = line
    const { entries, isCut } = await entriesOf(lineKey)
    const mayBeReplaced = line.isTemporary || line.changedAt !== null
    const replacement = all.find((one) => one !== line && one.startedAt === line.endedAt)
    return {
      transactionId: lineKey.split('|')[1] ?? '',
      productId,
      store,
      status,
      active,
      willRenew,
      startedAt: iso(line.startedAt),
      endsAt: iso(effectiveEnd),
      replacedBy: active || !mayBeReplaced ? null : (replacement?.productId ?? null),
      events: entries,
      isCut,
    }
  }

  /** The newest events of a line with what each of them changed; earlier ones are folded and not shown. */
  async function entriesOf(lineKey: string): Promise<{ entries: Entry[]; isCut: boolean }> {
    const rows = await db.read
      .select()
      .from(billingEvents)
      .where(eq(billingEvents.lineKey, lineKey))
      .orderBy(desc(billingEvents.orderedAt))
      .limit(EVENTS_SHOWN * 5)
    const byEvent = new Map(rows.map((row) => [row.eventId, row]))
    const events = readStored(rows)
    const earlier = events.slice(0, -EVENTS_SHOWN)
    let before = foldLine(earlier)
    const entries = events.slice(earlier.length).map((event) => {
      const after = step(before, event)
      const row = byEvent.get(event.id)
      const entry = {
        eventId: event.id,
        type: event.type,
        at: new Date(event.orderedAt).toISOString(),
        receivedAt: row?.receivedAt.toISOString() ?? '',
        outcome: row?.outcome ?? '',
        error: row?.error ?? null,
        changes: changesOf(before, after),
      }
      before = after
      return entry
    })
    return { entries: entries.toReversed(), isCut: earlier.length > 0 }
  }

  async function transfersOf(ids: string[]) {
    if (ids.length === 0) return []
    const named = await db.read
      .selectDistinct({ eventRow: transferIds.eventRow })
      .from(transferIds)
      .where(inArray(transferIds.appUserId, ids.slice(0, 500)))
      .orderBy(desc(transferIds.eventRow))
      .limit(TRANSFERS_SHOWN)
    if (named.length === 0) return []
    const rows = await db.read
      .select()
      .from(billingEvents)
      .where(
        inArray(
          billingEvents.id,
          named.map(({ eventRow }) => eventRow),
        ),
      )
    return readStored(rows).map(
      ({ id, orderedAt, transferredFrom, transferredTo }: OrderedEvent) => {
        const at = new Date(orderedAt).toISOString()
        return { eventId: id, at, from: transferredFrom, to: transferredTo }
      },
    )
  }
}

/** What a step has changed of a line; times as ISO 8601. */
function changesOf(before: Line | null, after: Line): Difference[] {
  return differencesBetween(before ?? {}, after)
    .filter(({ path, after: value }) => !NOISE.has(path) && !(before === null && isNothing(value)))
    .map(({ path, before: old, after: value }) => {
      const shown = TIMES.test(path) ? (time: unknown) => iso(time as number | null) : same
      return { path, before: shown(old), after: shown(value) }
    })
}

function isNothing(value: unknown): boolean {
  return value === null || value === false || (Array.isArray(value) && value.length === 0)
}

function same(value: unknown): unknown {
  return value
}

function iso(ms: number | null): string | null {
  return ms === null || isEffectivelyForever(ms) ? null : new Date(ms).toISOString()
}
