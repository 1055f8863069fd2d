import { existsSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { dataCommand, parseLimitOption, UsageError } from '../../lib/command.ts'
import { makeFolder } from '../../lib/files/durable-file.ts'
import { megabytes } from '../../lib/text/format.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import type { Services } from '../../server/services.ts'
import { localCommand } from '../command.ts'
import { describeMissing, readRowKeys } from '../copy/row-keys.ts'
import { asCommandError, lockData, requireData, takeBackupLock } from '../data/data-directory.ts'
import { ensureInstallationKey, installationKeys } from '../data/installation-keys.ts'
import { assertNotMoved, movedTo } from '../data/open-sqlite.ts'
import { effectiveConfig } from '../effective-config.ts'
import { sendToServer } from '../server/command-socket.ts'
import { readServiceRecord } from '../service/service-record.ts'
import { createProgress } from '../terminal.ts'
import { backupExists, removeOldBackups, removeUnfinished } from './backups.ts'
import { computeFingerprint, encryptingKey, findEncryption, isRecipient } from './encryption.ts'
import { gatherData } from './external-data.ts'
import { chooseTarget, formatTarget, type Target } from './target.ts'
import { type WriteResult, writeBackup } from './write-backup.ts'

type Outcome = WriteResult & {
  path: string
  /** The recipient, or `passphrase`; null if not encrypted. */
  encryption: string | null
  fingerprint: string | null
  seconds: number
  removed: string[]
  /** Names missing files that the database refers to. */
  problem: string | null
}

/** How long one hold keeps the files of deleted attachments, and how often it is renewed. */
const HOLD_MS = 60_000
const RENEWAL_MS = 20_000
/** Requests come first. */
const LOW_PRIORITY = 10

/** Keeps the files of deleted attachments for `ms`; 0 releases them. */
export const holdCommand = dataCommand({
  name: 'backup hold',
  summary: 'Used by backup',
  work: async ({ files }: Services, ms: number) => files.holdRemovals(ms),
  print: () => '',
})

export const backup = localCommand({
  name: 'backup',
  summary: 'Back up database, attachments and secrets to one archive while the server runs',
  options: [
    ['--out <path>', 'a file, or a folder that exists or ends with /; overrides BACKUP_DIR'],
    ['--data-dir <path>', 'overrides DATA_DIR'],
    ['--keep <count>', 'then delete all but the newest <count> backups in the folder'],
    ['--unencrypted', 'do not encrypt, even if the service encrypts its backups'],
    ['--yes', 'replace an existing --out file without asking'],
  ],
  work: async (loadConfig, { out, keep, unencrypted, yes }): Promise<Outcome> => {
    const config = await effectiveConfig(loadConfig())
    const keepCount = typeof keep === 'string' ? parseLimitOption(keep, '--keep') : null
    await requireData(config)
    // Until a copy is complete, the data is still here.
    const isMoving = (await movedTo(config))?.isUnfinished === true
    if (config.databaseUrl === null && !isMoving) await assertNotMoved(config)
    // Only this user may read our files.
    process.umask(0o077)
    using lock = await lockBackups(config)
    if (lock === null)
      throw new UsageError('Another backup is running: wait until it has finished.')
    setPriority(LOW_PRIORITY)
    const key = unencrypted ? null : await readKey(config)
    const outPath = typeof out === 'string' ? out : null
    const target = await chooseTarget(config, outPath, key !== null, yes === true)
    const { location } = target
    // Another instance may be writing a backup to the same location.
    await removeUnfinished(location, config.databaseUrl === null ? 0 : DAY_MS)
    const started = performance.now()
    const written = await withRemovalsHeld(config, () => write(config, target, key))
    // Leaves time to repair the files before incomplete backups have replaced all complete ones.
    const kept = (keepCount ?? 0) * (written.problem === null ? 1 : 2)
    const removed = keepCount === null ? [] : await removeOldBackups(location, kept)
    const seconds = Math.round(performance.now() - started) / 1000
    const encryption = await findEncryption(key)
    const fingerprint = computeFingerprint(key)
    const path = formatTarget(target)
    return { path, ...written, encryption, fingerprint, seconds, removed }
  },
  print: describe,
  findProblem: ({ problem }) => problem,
})

/** Null while another backup is running. */
async function lockBackups(config: Config): Promise<Disposable | null> {
  try {
    return takeBackupLock(config.dataDir)
  } catch (error) {
    throw await asCommandError(error, config)
  }
}

/** BACKUP_KEY, or else the key that the service is known to use. */
async function readKey({ backupKey, dataDir }: Config): Promise<string | null> {
  const record = readServiceRecord(dataDir)
  const key = backupKey ?? record?.backups ?? null
  if (backupKey === null && key !== null && !isRecipient(key)) {
    const place = record?.environmentFile ?? 'its environment'
    throw new UsageError(
      `The service encrypts its backups with a passphrase: set BACKUP_KEY to the one in ${place}, or add --unencrypted.`,
    )
  }
  return key && encryptingKey(key)
}

async function write(config: Config, target: Target, key: string | null) {
  using progress = createProgress()
  const { show: onProgress } = progress
  await ensureInstallationKey(config)
  const keys = await installationKeys(config)
  const isNew = !(await backupExists(target.location, target.name))
  const options = { target, isNew, key, keys, now: new Date(), onProgress }
  if (typeof target.location === 'string') await makeFolder(target.location)
  await using gathered = await gatherData(config, onProgress)
  const written = await writeBackup({ ...options, folder: gathered.folder })
  const rows = await readRowKeys(config, join(gathered.folder, 'homeport.db'))
  const isMissing = (key: string) =>
    !existsSync(join(gathered.folder, 'files', key.slice(0, 1), key))
  return { ...written, problem: await describeMissing(config, rows.filter(isMissing)) }
}

/** If no server is running, keeps one from starting until `work` is done. */
async function withRemovalsHeld<T>(config: Config, work: () => Promise<T>): Promise<T> {
  const hold = (ms: number) => sendToServer(config, holdCommand, ms, 'work')
  if ((await hold(HOLD_MS)) === null) {
    using _lock = await lockData(config)
    return await work()
  }
  const renewal = setInterval(() => hold(HOLD_MS).catch(() => {}), RENEWAL_MS)
  try {
    return await work()
  } finally {
    clearInterval(renewal)
    await hold(0).catch(() => {})
  }
}

function describe({ path, bytes, files, encryption, fingerprint, ...rest }: Outcome): string {
  const { seconds, removed } = rest
  const encryptionNote =
    encryption === null
      ? 'NOT encrypted'
      : isRecipient(encryption)
        ? `encrypted for ${encryption}`
        : `encrypted with a ${encryption} (fingerprint ${fingerprint})`
  const check = path.startsWith('s3://') ? 'checksums verified' : 'read back and verified'
  const size = `${megabytes(bytes)}, ${files} files, in ${seconds} s, ${check}, ${encryptionNote}`
  return [`${path}: ${size}.`, ...removed.map((name) => `Removed ${name}.`)].join('\n')
}
