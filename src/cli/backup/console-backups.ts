import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Config } from '../../config/config.ts'
import { AppError } from '../../lib/errors.ts'
import type { Backups } from '../../operations/console/backups.ts'
import { runProgram } from '../processes/program-command.ts'
import { formatBackupPath, listBackups, listUnfinished, locateBackups } from './backups.ts'
import { isRecipient } from './encryption.ts'
import { readFromBucket } from './store/bucket.ts'

/** How often the console gets a progress update. */
const PROGRESS_INTERVAL_MS = 300

/** Backups for the console. A child process writes or verifies each. */
export function createConsoleBackups(config: Config): Backups {
  const { dataDir, backupSchedule, backupKey } = config
  const location = locateBackups(config)
  /** A recipient can encrypt but not decrypt. */
  const canDecrypt = backupKey !== null && !isRecipient(backupKey)
  const canVerify = (name: string) => canDecrypt || !name.endsWith('.age')
  /** Verification results since the server started. Every backup is also verified when it is written. */
  const verified = new Map<string, { verifiedAt: Date | null; problem: string | null }>()
  return { list, make, verify, open }

  async function list() {
    const backups = (await listBackups(location)).map(({ name, bytes, at }) => {
      const known = verified.get(name) ?? { verifiedAt: at, problem: null }
      return { name, bytes, at, ...known, canVerify: canVerify(name) }
    })
    const next =
      backupSchedule === null ? null : Bun.cron.parse(backupSchedule, Date.now(), { tz: 'UTC' })
    const isOnServer = typeof location === 'string'
    return {
      backups,
      next,
      isEncrypted: backupKey !== null,
      isOnServer,
      folder: formatBackupPath(location),
    }
  }

  async function make(onSize: (bytes: number) => void) {
    const reporting = setInterval(() => void reportSize(onSize), PROGRESS_INTERVAL_MS)
    try {
      const out = await run(['backup', '--json', '--data-dir', dataDir])
      return { name: basename((JSON.parse(out) as { path: string }).path) }
    } finally {
      clearInterval(reporting)
    }
  }

  async function verify(name: string, signal: AbortSignal) {
    const found = await find(name)
    if (!found) throw new AppError('not_found', `There is no backup ${name}.`)
    if (!canVerify(name))
      throw new AppError('conflict', 'This server does not have the key to decrypt this backup.')
    try {
      await run(['restore', found.path, '--verify', '--json', '--data-dir', dataDir], signal)
      verified.set(name, { verifiedAt: new Date(), problem: null })
    } catch (error) {
      if (!signal.aborted)
        verified.set(name, { verifiedAt: null, problem: String((error as Error).message) })
      throw error
    }
  }

  async function open(name: string) {
    const found = await find(name)
    if (!found) return null
    if (typeof location === 'string') return Bun.file(found.path)
    const headers = { 'content-length': String(found.bytes) }
    return new Response(readFromBucket(location, name, found.bytes), { headers })
  }

  /** Names come from a browser, so only listed ones are read. */
  async function find(name: string) {
    return (await listBackups(location)).find((backup) => backup.name === name)
  }

  async function reportSize(onSize: (bytes: number) => void) {
    // A store does not report how much of an upload it has received.
    const [partial] = typeof location === 'string' ? await listUnfinished(location) : []
    const found = partial && (await stat(partial).catch(() => null))
    if (found) onSize(found.size)
  }

  async function run(args: string[], signal?: AbortSignal): Promise<string> {
    const { succeeded, out, err } = await runProgram(args, signal)
    if (succeeded) return out
    throw new AppError('conflict', err || `The ${args[0]} failed.`)
  }
}
