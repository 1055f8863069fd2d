import { setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import type { Config } from '../../config.ts'
import { dataCommand, EXIT, parseLimitOption, UsageError } from '../../lib/command.ts'
import { megabytes } from '../../lib/megabytes.ts'
import { takeLock } from '../../platform/db/sqlite/lock.ts'
import type { Services } from '../../server/services.ts'
import type { LocalCommand } from '../command.ts'
import { askServer } from '../command-socket.ts'
import { lockData, requireData } from '../data-directory.ts'
import { effectiveConfig } from '../effective-config.ts'
import { installationKeys, makeInstallationKey } from '../installation-keys.ts'
import { readServiceRecord } from '../service/service-record.ts'
import { createProgress } from '../terminal.ts'
import { removeOldBackups, removeUnfinished } from './backups.ts'
import { encryptingKey, encryptionOf, isRecipient } from './encryption.ts'
import { gatherData, isShared } from './shared-data.ts'
import { chooseTarget } from './target.ts'
import { type Written, writeBackup } from './write-backup.ts'

type Outcome = Written & {
  path: string
  /** For which recipient, or `passphrase`; null for not at all. */
  encryption: string | null
  seconds: number
  removed: string[]
}

/** For so long attachments that are deleted stay, and how often that is asked for anew, in ms. */
const HOLD = 60_000
const RENEWAL = 20_000
/** Everything that somebody waits for comes first. */
const LOW_PRIORITY = 10

/** Keeps the files of deleted attachments for so many ms; 0 lets them go. */
export const holdCommand = dataCommand({
  name: 'backup hold',
  summary: 'What backup asks the server for',
  work: async ({ files }: Services, ms: number) => files.holdRemovals(ms),
  print: () => '',
})

export const backup: LocalCommand = {
  name: 'backup',
  summary: 'Write database, attachments and secrets to one archive, beside the running server',
  options: [
    ['--out <path>', 'a file, or a folder that is there or ends with /; wins over BACKUP_DIR'],
    ['--data-dir <path>', 'wins over DATA_DIR'],
    ['--keep <count>', 'afterwards keep only the newest of the folder, so many'],
    ['--unencrypted', 'write it in the clear though the service encrypts its backups'],
    ['--yes', 'replace the file of --out without asking'],
  ],
  run: async (given, { out, keep, unencrypted, yes, json }) => {
    const config = await effectiveConfig(given())
    const kept = typeof keep === 'string' ? parseLimitOption(keep, '--keep') : null
    await requireData(config)
    // What we make is for our own eyes.
    process.umask(0o077)
    using lock = takeLock(join(config.dataDir, 'backup.lock'))
    if (lock === null) throw new UsageError('Another backup is being written: wait for its end.')
    setPriority(LOW_PRIORITY)
    const key = unencrypted ? null : await keyOf(config)
    const place = typeof out === 'string' ? out : null
    const path = await chooseTarget(config, place, key !== null, yes === true)
    await removeUnfinished(dirname(path))
    const started = performance.now()
    const written = await withRemovalsHeld(config, () => write(config, path, key))
    const removed = kept === null ? [] : await removeOldBackups(dirname(path), kept)
    const seconds = Math.round(performance.now() - started) / 1000
    const encryption = await encryptionOf(key)
    const outcome = { path, ...written, encryption, seconds, removed }
    console.log(json ? JSON.stringify(outcome) : describe(outcome))
    return EXIT.done
  },
}

/** What the service is known to encrypt with is taken where nothing else is said. */
async function keyOf({ backupKey, dataDir }: Config): Promise<string | null> {
  const record = readServiceRecord(dataDir)
  const key = backupKey ?? record?.backups ?? null
  if (backupKey === null && key !== null && !isRecipient(key)) {
    const place = record?.environmentFile ?? 'its environment'
    throw new UsageError(
      `The service encrypts its backups with a passphrase: set BACKUP_KEY to that in ${place}, or add --unencrypted.`,
    )
  }
  return key && encryptingKey(key)
}

async function write(config: Config, path: string, key: string | null): Promise<Written> {
  const { show: onProgress, end } = createProgress()
  await makeInstallationKey(config)
  const keys = await installationKeys(config)
  const options = { path, key, keys, now: new Date(), onProgress }
  try {
    if (!isShared(config)) return await writeBackup({ ...options, dataDir: config.dataDir })
    await using gathered = await gatherData(config, onProgress)
    return await writeBackup({ ...options, dataDir: gathered.dataDir })
  } finally {
    end()
  }
}

/** While a server runs it keeps what is deleted; without one, none may start. */
async function withRemovalsHeld<T>(config: Config, work: () => Promise<T>): Promise<T> {
  const hold = (ms: number) => askServer(config, holdCommand, ms, 'work')
  if ((await hold(HOLD)) === null) {
    using _lock = await lockData(config)
    return await work()
  }
  const renewal = setInterval(() => hold(HOLD).catch(() => {}), RENEWAL)
  try {
    return await work()
  } finally {
    clearInterval(renewal)
    await hold(0).catch(() => {})
  }
}

function describe({ path, bytes, files, encryption, seconds, removed }: Outcome): string {
  const secrecy =
    encryption === null
      ? 'NOT encrypted'
      : isRecipient(encryption)
        ? `encrypted for ${encryption}`
        : `encrypted with a ${encryption}`
  const size = `${megabytes(bytes)}, ${files} files, in ${seconds} s, read again and checked, ${secrecy}`
  return [`${path}: ${size}.`, ...removed.map((one) => `Removed ${one}.`)].join('\n')
}
