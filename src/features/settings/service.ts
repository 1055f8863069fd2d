import type { Reader, Tx } from '../../db/db.ts'
import { mailboxOf } from '../../lib/email-address.ts'
import { AppError, type ErrorDetail } from '../../lib/errors.ts'
import { check } from '../../lib/validation.ts'
import { compareVersions } from '../../lib/versions.ts'
import { AppSettings } from './model.ts'
import type { SettingsDb } from './schema.ts'

type SettingsDeps = {
  db: SettingsDb
  /** Moves the counter that tells apps of changed settings, as part of the change. */
  bumpVersion: (tx: Tx) => Promise<void>
}

const LINK_SCHEMES = ['https:', 'http:', 'market:', 'itms-apps:']
const LINK = `must be a URL that begins with ${LINK_SCHEMES.join(', ')}`

export type Settings = ReturnType<typeof createSettings>

/** The app settings, one row a top-level field. */
export function createSettings({ db, bumpVersion }: SettingsDeps) {
  const { settings } = db.tables
  const current = db.cached('settings', load)
  /** The settings as they stand; the same object until they change. */
  const { read } = current
  return { read, set, seed }

  /** Changes single fields by their dotted keys, such as `ios.latestVersion`; all of them or none. */
  async function set(changes: Record<string, unknown>): Promise<AppSettings> {
    await db.write(async (tx) => {
      const before = await load(tx)
      await store(tx, patched(before, changes))
      await bumpVersion(tx)
      await current.changed(tx)
    })
    return read()
  }

  /** Fills an empty table as part of the change. */
  async function seed(tx: Tx, first: unknown) {
    await store(tx, check(AppSettings, first, 'settings'))
  }

  async function store(tx: Tx, values: AppSettings) {
    for (const [key, value] of Object.entries(values)) {
      await tx
        .insert(settings)
        .values({ key, value })
        .onConflictDoUpdate({ target: settings.key, set: { value } })
    }
  }

  async function load(from: Reader): Promise<AppSettings> {
    const rows = await from.select().from(settings)
    return check(
      AppSettings,
      Object.fromEntries(rows.map(({ key, value }) => [key, withNumbers(value)])),
      'settings',
    )
  }
}

/** Earlier versions took text for build numbers. */
function withNumbers(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  const numberOf = (part: unknown) => Math.max(0, Math.floor(Number(part)) || 0)
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([name, part]) => [name, /BuildNumber$/.test(name) ? numberOf(part) : part]),
  )
}

function patched(before: AppSettings, changes: Record<string, unknown>): AppSettings {
  const after: Record<string, unknown> = structuredClone(before)
  const unknown: ErrorDetail[] = []
  const bad: ErrorDetail[] = []
  for (const [key, value] of Object.entries(changes)) {
    const [field = '', part] = key.split('.')
    const own = Object.hasOwn(after, field) ? after[field] : null
    const holder = part === undefined ? after : (own as Record<string, unknown> | null)
    const name = part ?? field
    const known = holder !== null && typeof holder === 'object' && Object.hasOwn(holder, name)
    if (known && key.split('.').length <= 2) holder[name] = value
    else unknown.push({ path: key, message: 'is not a setting' })
    if (/(Link|Url)$/.test(key) && !isLink(value))
      bad.push({ path: `settings.${key}`, message: LINK })
    if (key === 'supportEmail' && typeof value === 'string' && !isMailbox(value))
      bad.push({ path: 'settings.supportEmail', message: 'must be an e-mail address' })
  }
  if (unknown.length > 0) {
    throw new AppError('validation_failed', 'Some settings do not exist.', { details: unknown })
  }
  const settings = bad.length > 0 ? null : check(AppSettings, after, 'settings')
  if (settings !== null)
    bad.push(...unsupportedLatest('ios', settings), ...unsupportedLatest('android', settings))
  if (settings !== null && bad.length === 0) return settings
  throw new AppError('validation_failed', 'The settings are invalid.', { details: bad })
}

/** An app that is the latest and not supported could never be used again. */
function unsupportedLatest(platform: 'ios' | 'android', settings: AppSettings): ErrorDetail[] {
  const { latestVersion, supportedVersion, ...builds } = settings[platform]
  const isNewer = compareVersions(supportedVersion, latestVersion)
  const path = `settings.${platform}`
  if (isNewer > 0) {
    return [{ path: `${path}.supportedVersion`, message: 'must not be above latestVersion' }]
  }
  if (isNewer < 0 || builds.supportedBuildNumber <= builds.latestBuildNumber) return []
  return [{ path: `${path}.supportedBuildNumber`, message: 'must not be above latestBuildNumber' }]
}

function isMailbox(text: string): boolean {
  return text === '' || mailboxOf(text) !== null
}

/** What apps may be told to open: a page, a page of a store, or nothing. */
function isLink(value: unknown): boolean {
  if (value === '' || typeof value !== 'string') return true
  return LINK_SCHEMES.includes(URL.parse(value)?.protocol ?? '')
}
