import { constants, existsSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { checkSecrets } from '../../config/secrets.ts'
import {
  describeInsecureStore,
  probeStore,
} from '../../features/attachments/storage/file-settings.ts'
import { APPLE_ACCOUNT_PATH } from '../../features/users/social/model.ts'
import { type FreeSpace, freeSpace } from '../../lib/files/free-space.ts'
import { megabytes } from '../../lib/text/format.ts'
import { SERVER_CONDITIONS } from '../../operations/conditions.ts'
import { withoutPassword } from '../../platform/db/postgres/open.ts'
import { countAppliedMigrations, isIntact } from '../../platform/db/sqlite/open.ts'
import { SKEW_WARNING_MS } from '../../platform/jobs/jobs.ts'
import { publicUrl } from '../../platform/public-url.ts'
import { asCommandError, listFolderWarnings } from '../data/data-directory.ts'
import { postgresStatus } from '../data/open-postgres.ts'
import { databasePath, migrationStatus } from '../data/open-sqlite.ts'
import { isServing } from '../server/command-socket.ts'
import { type Check, type Finding, failed, ok, warning } from './check.ts'
import { checkBackup, checkDeliveries, checkWebhooks, type ServerState } from './server-state.ts'

/** Each file takes one inode, including the database's temporary files. */
const LOW_INODES = SERVER_CONDITIONS['inodes-low'].limit.below

export function localChecks(config: Config, state: ServerState | null): Check[] {
  const { dataDir, minFreeBytes, webhookTokens, baseUrl, misspelled } = config
  return [
    { name: 'configuration', run: configuration },
    { name: 'server', run: server },
    { name: 'disk', run: disk },
    { name: 'folders', run: folders },
    ...(config.databaseUrl === null
      ? [
          { name: 'database', run: database },
          { name: 'secrets', run: secrets },
        ]
      : [{ name: 'database', run: databaseServer }]),
    ...(config.filesUrl ? [{ name: 'files', run: store }] : []),
    ...(config.appleClientIds.length > 0 ? [{ name: 'apple', run: apple }] : []),
    { name: 'backup', run: () => checkBackup(config, state) },
    ...(webhookTokens.length > 0
      ? [{ name: 'deliveries', run: async () => checkDeliveries(state) }]
      : []),
    ...(state === null
      ? []
      : [
          { name: 'webhooks', run: async () => checkWebhooks(state) },
          { name: 'passkeys', run: async () => checkPasskeys(state) },
          { name: 'settings', run: async () => checkSettings(state) },
          { name: 'examples', run: async () => checkExamples(state) },
        ]),
  ]

  async function configuration() {
    if (misspelled.length > 0) {
      const names = misspelled.map(({ name }) => name).join(', ')
      const meant = misspelled.map((one) => one.meant).join(', ')
      return warning(`unknown variables: ${names}`, `Did you mean ${meant}?`)
    }
    const [sentence] = config.warnings
    if (sentence !== undefined) return warning('questionable', `${sentence}.`)
    if (webhookTokens.length === 0) {
      return warning('WEBHOOK_TOKEN is not set', 'Set it, or billing events are refused with 503.')
    }
    if (baseUrl === null) {
      return warning('BASE_URL is not set', 'Set it, or links in e-mails point to localhost.')
    }
    return ok('valid')
  }

  async function apple() {
    const detail = `Apple can report changes to ${publicUrl(config)}${APPLE_ACCOUNT_PATH}`
    if (config.appleTeamId !== null) return ok(detail)
    return warning(detail, 'Set APPLE_TEAM_ID, or deleting an account does not revoke its sign-in.')
  }

  async function server() {
    if (!(await isServing(config))) {
      return failed('is not running', 'Start it: "systemctl start homeport", or "homeport serve".')
    }
    const failing = Object.entries(state?.ready ?? {}).filter(([, part]) => part === 'failing')
    if (failing.length === 0) return ok('is running')
    // An older server does not report the reasons.
    const faults: Record<string, string> = state?.faults ?? {}
    const names = failing.map(([name]) => (faults[name] ? `${name} (${faults[name]})` : name))
    return failed(
      `is running; failing: ${names.join(', ')}`,
      'The other checks and the log say why.',
    )
  }

  async function disk() {
    return assessDisk(await freeSpace(dataDir), minFreeBytes)
  }

  async function folders() {
    const error = await access(dataDir, constants.W_OK).catch((reason) => reason)
    if (error) {
      const { message } = (await asCommandError(error, config)) as Error
      return failed('cannot be written to', message)
    }
    const [sentence] = listFolderWarnings(config)
    return sentence === undefined
      ? ok('not writable by other users')
      : failed('are unsafe or unusable', sentence)
  }

  async function databaseServer() {
    const status = await postgresStatus(config)
    const { applied, known, skew, isReadOnly, unsafe, missingPrivileges } = status
    const place = withoutPassword(config.databaseUrl ?? '')
    if (isReadOnly) {
      return failed(
        `${place} is read-only`,
        'Connect to the primary server, and turn off default_transaction_read_only.',
      )
    }
    if (missingPrivileges !== null)
      return failed(`the role lacks privileges in ${place}`, missingPrivileges)
    if (Math.abs(skew) > SKEW_WARNING_MS) {
      return failed(
        `the clock differs from that of ${place} by ${Math.round(skew / 1000)} s`,
        'Synchronize both clocks: "timedatectl set-ntp true".',
      )
    }
    if (unsafe !== null) return warning(`${place} has ${unsafe.replace(/:.*/, '')}`, unsafe)
    return applied === known.length
      ? ok(`${place} answers`)
      : warning(`${place} lacks ${known.length - applied} migrations`, 'Start the server.')
  }

  async function database() {
    const { applied, known } = await migrationStatus(config)
    const path = databasePath(config)
    if (!isIntact(path)) return failed('is damaged', 'Restore the newest backup: homeport restore.')
    const size = megabytes(Bun.file(path).size + Bun.file(`${path}-wal`).size)
    return applied === known.length
      ? ok(`intact, ${size}`)
      : warning(`intact, ${known.length - applied} pending migrations`, 'Start the server.')
  }

  async function secrets() {
    const folder = join(dataDir, 'secrets')
    const applied = existsSync(databasePath(config))
      ? countAppliedMigrations(databasePath(config))
      : 0
    return checkSecrets(folder, applied).then(
      () => ok('complete, and readable by this user only'),
      (error: Error) => failed('cannot be used', error.message),
    )
  }

  async function store() {
    const error = await probeStore(config).catch((reason) => reason.cause ?? reason)
    if (error) return failed('the object store at FILES_URL accepts no files', error.message)
    // An older server does not report it.
    const problem = state?.storeProblem ?? null
    if (problem !== null) return failed('the object store has several users', problem)
    const exposed = describeInsecureStore(config)
    return exposed === null
      ? ok('the object store at FILES_URL accepts files')
      : warning('the object store at FILES_URL accepts files over http', exposed)
  }
}

/** Checks whether a web page was not allowed to use passkeys. */
export function checkPasskeys({ refusedPasskeys }: Pick<ServerState, 'refusedPasskeys'>): Finding {
  // An older server does not report it.
  if (!refusedPasskeys) return ok('no web page was denied the use of passkeys')
  const { origin, accepted } = refusedPasskeys
  return warning(
    `wrong_origin: pages at ${origin} were not allowed to use passkeys; accepted: ${accepted.join(', ')}`,
    'If it is your web app, add it to PASSKEY_ORIGINS and restart.',
  )
}

/** Checks whether settings have rules that can never match, or plans have invalid durations. */
export function checkSettings({ settingWarnings }: Pick<ServerState, 'settingWarnings'>): Finding {
  // An older server does not report them.
  const [first, ...others] = settingWarnings ?? []
  if (first === undefined) return ok('every rule can match, and every plan duration is valid')
  const count = others.length === 0 ? '' : ` (and ${others.length} more)`
  return warning(
    `${first.replace(/\.$/, '')}${count}`,
    'Change it in the console, or see "homeport settings explain" and "homeport plans publish".',
  )
}

/** Checks whether apps still get the example settings and plans of a new installation. */
export function checkExamples({ examples }: Pick<ServerState, 'examples'>): Finding {
  // An older server does not report them.
  return examples?.length
    ? warning(examples.join(' '), 'Edit them in the console before the app is released.')
    : ok('the settings and plans are your own')
}

export function assessDisk({ bytes, inodes }: FreeSpace, minFreeBytes: number): Finding {
  const isShortOfInodes = inodes !== null && inodes < LOW_INODES
  const text = `${megabytes(bytes)}${isShortOfInodes ? ` and ${inodes} inodes` : ''} free`
  if (bytes < minFreeBytes) return failed(text, 'Free up some space: uploads are refused.')
  if (inodes === 0) {
    return failed(text, 'Remove files you do not need: no new file can be created ("df -i").')
  }
  if (bytes < 2 * minFreeBytes) return warning(text, 'Uploads are refused below MIN_FREE_BYTES.')
  if (isShortOfInodes) return warning(text, 'Each file takes an inode: see "df -i".')
  return ok(text)
}
