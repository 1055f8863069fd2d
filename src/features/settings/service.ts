import { eq } from 'drizzle-orm'
import { AppError, type ErrorDetail } from '../../lib/errors.ts'
import { check, MAX_INT32 } from '../../lib/validation.ts'
import type { Reader, Tx } from '../../platform/db/db.ts'
import { prepareUpsert } from '../../platform/db/prepared.ts'
import { createPublished, type Publishing } from '../../platform/publications/publications.ts'
import type { PublicationsDb } from '../../platform/publications/schema.ts'
import { StoredSettings } from './model.ts'
import type { Audience } from './rules/conditions.ts'
import { explainSettings, listSettings } from './rules/resolution.ts'
import { listWarnings } from './rules/warnings.ts'
import type { SettingsDb } from './schema.ts'
import { checkEdit } from './validation.ts'

type SettingsDeps = {
  db: SettingsDb & PublicationsDb
  now: () => Date
  /** In the caller's transaction. */
  bumpVersion: (tx: Tx) => Promise<void>
  /** Null for none. */
  countryHeader: string | null
  /** All plans: users keep archived ones. */
  listPlans: () => Promise<{ code: string; name: string }[]>
}

const FIELDS = Object.keys(StoredSettings.properties)

export type Settings = ReturnType<typeof createSettings>

export function createSettings(deps: SettingsDeps) {
  const { db, now, bumpVersion, countryHeader, listPlans } = deps
  const { settings } = db.tables
  const storeField = prepareUpsert(db, settings)
  const current = db.cached('settings', load)
  /** Returns the same object until the settings change. */
  const { read } = current
  const published = createPublished<StoredSettings>({
    db,
    now,
    kind: 'settings',
    load,
    check: checkEdit,
    async store(tx, values) {
      await store(tx, values)
      await bumpVersion(tx)
      await current.invalidate(tx)
    },
  })
  return { ...published, read, set, unset, seed, explain, warn, readSurroundings }

  /** Changes fields by dotted keys, such as `ios.latestVersion`: all of them, or none. */
  function set(changes: Record<string, unknown>, by?: Publishing) {
    return published.change((before) => checkEdit(applyChanges(before, changes), before), by)
  }

  /** Removes custom settings by their keys, such as `features.newPaywall`. */
  function unset(keys: string[], by?: Publishing) {
    return published.change((before) => checkEdit(removeFeatures(before, keys), before), by)
  }

  /** What an audience gets from `edited`, or from the current settings, and why. Changes nothing. */
  async function explain(audience: Audience, edited?: unknown) {
    const stored = await read()
    const settings = edited === undefined ? stored : checkEdit(edited, stored)
    return explainSettings(listSettings(settings), audience)
  }

  /** A sentence for each rule of `edited`, or of the current settings, that can never match. */
  async function warn(edited?: unknown): Promise<string[]> {
    const stored = await read()
    const settings = edited === undefined ? stored : checkEdit(edited, stored)
    const planCodes = (await listPlans()).map(({ code }) => code)
    return listWarnings(listSettings(settings), { countryHeader, planCodes })
  }

  /** What an editor of rules must know about this server. */
  async function readSurroundings() {
    const plans = (await listPlans()).map(({ code, name }) => ({ code, name }))
    return { countryHeader, plans }
  }

  /** In the caller's transaction. */
  async function seed(tx: Tx, first: unknown) {
    await store(tx, check(StoredSettings, withFeatures(first), 'settings'))
  }

  async function store(tx: Tx, values: StoredSettings) {
    for (const [key, value] of Object.entries(values)) await storeField(tx, { key, value })
    if (values.rules === undefined) await tx.delete(settings).where(eq(settings.key, 'rules'))
  }

  async function load(from: Reader): Promise<StoredSettings> {
    const rows = await from.select().from(settings)
    // The ETag depends on the field order, but engines return rows in different orders.
    const inOrder = rows.toSorted((a, b) => FIELDS.indexOf(a.key) - FIELDS.indexOf(b.key))
    const stored = Object.fromEntries(inOrder.map(({ key, value }) => [key, withNumbers(value)]))
    return check(StoredSettings, withFeatures(stored), 'settings')
  }
}

/** Settings stored by earlier releases have no `features`. */
function withFeatures(settings: unknown): unknown {
  return { features: {}, ...(settings as object) }
}

/** Earlier releases stored build numbers as text, and larger ones than apps can read. */
function withNumbers(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  const toNumber = (part: unknown) =>
    Math.min(MAX_INT32, Math.max(0, Math.floor(Number(part)) || 0))
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([name, part]) => {
      if (!/BuildNumber$/.test(name)) return [name, part]
      if (Array.isArray(part))
        return [name, part.map((rule) => ({ ...rule, value: toNumber(rule.value) }))]
      // The name of a custom setting may also end in BuildNumber.
      return [name, typeof part === 'object' ? part : toNumber(part)]
    }),
  )
}

function applyChanges(before: StoredSettings, changes: Record<string, unknown>): unknown {
  const after: Record<string, unknown> = structuredClone(before)
  const unknown: ErrorDetail[] = []
  for (const [key, value] of Object.entries(changes)) {
    const [field = '', part, ...rest] = key.split('.')
    const group = Object.hasOwn(after, field) ? after[field] : null
    const parent = part === undefined ? after : (group as Record<string, unknown> | null)
    const name = part ?? field
    const isObject = parent !== null && typeof parent === 'object'
    if (isObject && field === 'features' && part !== undefined && rest.length === 0)
      parent[name] = { rules: [], ...(parent[name] as object | undefined), value }
    else if (isObject && Object.hasOwn(parent, name) && rest.length === 0) parent[name] = value
    else unknown.push({ path: key, message: 'is not a setting' })
  }
  if (unknown.length > 0) throw unknownSettings(unknown)
  return after
}

function removeFeatures(before: StoredSettings, keys: string[]): unknown {
  const features = { ...before.features }
  const unknown = keys.filter((key) => {
    const name = key.replace(/^features\./, '')
    const exists = key.startsWith('features.') && Object.hasOwn(features, name)
    delete features[name]
    return !exists
  })
  if (unknown.length === 0) return { ...before, features }
  const message = 'is not a custom setting; only those can be removed'
  throw unknownSettings(unknown.map((path) => ({ path, message })))
}

function unknownSettings(details: ErrorDetail[]): AppError {
  return new AppError('validation_failed', 'Some settings do not exist.', { details })
}
