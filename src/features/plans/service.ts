import { asc, eq, isNull } from 'drizzle-orm'
import { AppError } from '../../lib/errors.ts'
import { asCurrency } from '../../lib/text/locale.ts'
import { DURATION_RULE, readDuration } from '../../lib/time/plan-durations.ts'
import { type LimitPeriod, periodsByName, STANDARD_LIMITS } from '../../lib/time/plan-limits.ts'
import { check, MAX_INT32 } from '../../lib/validation.ts'
import type { Reader, Tx } from '../../platform/db/db.ts'
import { createPublished } from '../../platform/publications/publications.ts'
import type { PublicationsDb } from '../../platform/publications/schema.ts'
import { negotiatePlans, type Plan, type PlanImport, PlanImports, translatePlans } from './model.ts'
import type { PlansDb } from './schema.ts'

const INVALID_CURRENCY = 'must be an ISO 4217 code such as usd'

type PlansDeps = {
  db: PlansDb & PublicationsDb
  now: () => Date
  newId: () => string
}
export type Plans = ReturnType<typeof createPlans>

/** Returns plans in the order in which they were imported. */
export function createPlans({ db, now, newId }: PlansDeps) {
  const { plans } = db.tables
  const current = db.cached('plans', load)
  const translations = new WeakMap<Plan[], Map<string, ReturnType<typeof translatePlans>>>()
  const published = createPublished<PlanImport[]>({
    db,
    now,
    kind: 'plans',
    load: async (from) => (await load(from)).plans,
    check: validateImports,
    async store(tx, wanted) {
      await replaceAll(tx, wanted)
      await current.invalidate(tx)
    },
  })
  return { ...published, list, listInLanguages, knownLimits, warn, codesToArchive, archive, seed }

  /** Plans on sale, with texts in all languages; the same array until they change. */
  async function list() {
    return (await current.read()).plans
  }

  /** Plans on sale in the best matching language, and that language. */
  async function listInLanguages(wanted: string[]) {
    const catalogue = await current.read()
    const language = negotiatePlans(catalogue.plans, wanted)
    return {
      language,
      plans: translate(catalogue.plans, language),
      archived: translate(catalogue.archived, language),
    }
  }

  /** All limits with their periods. */
  async function knownLimits(): Promise<Map<string, LimitPeriod>> {
    const { plans, archived } = await current.read()
    return new Map([...archived, ...plans].flatMap((plan) => Object.entries(periodsByName(plan))))
  }

  /** Returns a sentence for each plan with an invalid duration: earlier builds accepted any text. */
  async function warn(): Promise<string[]> {
    const { plans, archived } = await current.read()
    const invalid = [...plans, ...archived].filter(({ duration }) => !readDuration(duration))
    return invalid.map(
      ({ code, duration }) =>
        `Plan ${code} has an invalid duration, “${duration}”. It ${DURATION_RULE}.`,
    )
  }

  /** Translations are cached per catalogue and language. */
  function translate(catalogue: Plan[], language: string) {
    const known = translations.get(catalogue) ?? new Map()
    const plans = known.get(language) ?? translatePlans(catalogue, language)
    // Clients choose the language, so the cache is bounded.
    if (known.size >= 50) known.clear()
    translations.set(catalogue, known.set(language, plans))
    return plans
  }

  async function codesToArchive(wanted: unknown): Promise<string[]> {
    return findMissing(await list(), validateImports(wanted))
  }

  /** Throws `not_found` for a plan that is not on sale. */
  function archive(...codes: string[]) {
    return published.change((before) => {
      const [unknown] = codes.filter((code) => !before.some((plan) => plan.code === code))
      // Archiving a plan again would make it the latest archived one, and change which plan purchases match.
      if (unknown !== undefined) throw new AppError('not_found', `No plan ${unknown} is on sale.`)
      return before.filter(({ code }) => !codes.includes(code))
    })
  }

  /** In the caller's transaction. */
  async function seed(tx: Tx, catalogue: unknown) {
    await replaceAll(tx, validateImports(catalogue))
  }

  /** Matches plans by code, and archives missing ones. */
  async function replaceAll(tx: Tx, imports: PlanImport[]) {
    const taken = new Set((await tx.select({ id: plans.id }).from(plans)).map(({ id }) => id))
    for (const [position, { _id, code, ...fields }] of imports.entries()) {
      const changes = { position, fields, archivedAt: null }
      // The code identifies a plan. A plan whose id another plan already has gets a new id.
      const id = _id && !taken.has(_id) ? _id : newId()
      taken.add(id)
      await tx
        .insert(plans)
        .values({ id, code, ...changes })
        .onConflictDoUpdate({ target: plans.code, set: changes })
    }
    const onSale = await tx.select({ code: plans.code }).from(plans).where(isNull(plans.archivedAt))
    for (const code of findMissing(onSale, imports)) {
      await tx.update(plans).set({ archivedAt: now() }).where(eq(plans.code, code))
    }
  }

  async function load(from: Reader) {
    const rows = await from.select().from(plans).orderBy(asc(plans.position), asc(plans.id))
    const archived = rows.filter(({ archivedAt }) => archivedAt !== null)
    return {
      plans: rows.filter(({ archivedAt }) => archivedAt === null).map(toPlan),
      /** The latest first. */
      archived: archived
        .toSorted((a, b) => Number(b.archivedAt) - Number(a.archivedAt))
        .map(toPlan),
    }
  }
}

function toPlan({ id, code, fields }: { id: string; code: string; fields: object }) {
  return { ...readFields(fields), code, _id: id } as Plan
}

/** Earlier versions stored numbers as text, numbers too large for apps, and currencies as typed. */
function readFields(fields: object) {
  const entries = Object.entries(fields)
  return Object.fromEntries(entries.map(([name, value]) => [name, readField(name, value)]))
}

function readField(name: string, value: unknown): unknown {
  if (name === 'currency') return String(value).toLowerCase()
  if (!/Limit(PerApp)?$|^trialDays$|^price$/.test(name)) return value
  return name === 'price' ? Number(value) : Math.min(Number(value), MAX_INT32)
}

export function findMissing(plans: { code: string }[], wanted: { code: string }[]): string[] {
  const codes = new Set(wanted.map(({ code }) => code))
  return plans.map(({ code }) => code).filter((code) => !codes.has(code))
}

/** Throws `validation_failed`. */
function validateImports(wanted: unknown): PlanImport[] {
  const imports = check(PlanImports, wanted, 'plans').map(withTrimmedIds)
  const details: { path: string; message: string }[] = []
  for (const [at, { currency, duration }] of imports.entries()) {
    const path = `plans.${at}`
    if (asCurrency(currency) === null)
      details.push({ path: `${path}.currency`, message: INVALID_CURRENCY })
    if (readDuration(duration) === null)
      details.push({ path: `${path}.duration`, message: DURATION_RULE })
  }
  for (const field of ['code', 'paymentPriceId'] as const) {
    for (const at of repeatedIndexes(imports.map((plan) => plan[field]))) {
      details.push({ path: `plans.${at}.${field}`, message: 'is also used by another plan' })
    }
  }
  for (const [at, { limits = {}, limitPeriods = {} }] of imports.entries()) {
    for (const name of STANDARD_LIMITS.filter((name) => name in limits)) {
      const path = `plans.${at}.limits.${name}`
      details.push({ path, message: 'is a standard limit: set it as a field of the plan' })
    }
    for (const name of Object.keys(limitPeriods).filter((name) => !Object.hasOwn(limits, name))) {
      details.push({ path: `plans.${at}.limitPeriods.${name}`, message: 'must name a limit' })
    }
  }
  if (details.length === 0) return imports
  throw new AppError('validation_failed', 'The plans are invalid.', { details })
}

/** Stray spaces and empty lines from a text field would silently keep a purchase from matching its plan. */
function withTrimmedIds(plan: PlanImport): PlanImport {
  const { otherProductIds, entitlementIds, capabilities } = plan
  const trimAll = (ids: string[]) => ids.map((id) => id.trim()).filter((id) => id !== '')
  return {
    ...plan,
    paymentProductId: plan.paymentProductId.trim(),
    paymentPriceId: plan.paymentPriceId.trim(),
    duration: plan.duration.trim(),
    currency: plan.currency.toLowerCase(),
    capabilities: trimAll(capabilities),
    ...(otherProductIds && { otherProductIds: trimAll(otherProductIds) }),
    ...(entitlementIds && { entitlementIds: trimAll(entitlementIds) }),
  }
}

/** Empty values may repeat. */
function repeatedIndexes(values: string[]): number[] {
  return values.flatMap((value, at) => (value !== '' && values.indexOf(value) < at ? [at] : []))
}
