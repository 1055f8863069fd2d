import { stat } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../../config.ts'
import { takeLock } from '../../db/sqlite/lock.ts'
import { dataCommand, UsageError } from '../../lib/command.ts'
import { megabytes } from '../../lib/megabytes.ts'
import { readLimit } from '../../lib/read-limit.ts'
import type { Services } from '../../services.ts'
import { EXIT, type LocalCommand } from '../command.ts'
import { askServer } from '../command-socket.ts'
import { lockData, requireData } from '../data-directory.ts'
import { effectiveConfig } from '../effective-config.ts'
import { createProgress } from '../progress.ts'
import { backupDirOf, backupName, removeOldBackups, removeUnfinished } from './backups.ts'
import { gatherData, isShared } from './shared-data.ts'
import { type Written, writeBackup } from './write-backup.ts'

type Outcome = Written & { path: string; seconds: number; removed: string[] }

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
    ['--out <path>', 'a file or a folder; wins over BACKUP_DIR'],
    ['--data-dir <path>', 'wins over DATA_DIR'],
    ['--keep <count>', 'afterwards keep only the newest of the folder, so many'],
  ],
  run: async (given, { out, keep, json }) => {
    const config = await effectiveConfig(given())
    const kept = typeof keep === 'string' ? readLimit(keep, '--keep') : null
    await requireData(config)
    // What we make is for our own eyes.
    process.umask(0o077)
    using lock = takeLock(join(config.dataDir, 'backup.lock'))
    if (lock === null) throw new UsageError('Another backup is being written: wait for its end.')
    setPriority(LOW_PRIORITY)
    const path = await targetOf(
      config,
      typeof out === 'string' ? resolve(out) : backupDirOf(config),
    )
    await removeUnfinished(dirname(path))
    const started = performance.now()
    const written = await withRemovalsHeld(config, () => write(config, path))
    const removed = kept === null ? [] : await removeOldBackups(dirname(path), kept)
    const seconds = Math.round(performance.now() - started) / 1000
    const outcome = { path, ...written, seconds, removed }
    console.log(json ? JSON.stringify(outcome) : describe(outcome))
    return EXIT.done
  },
}

async function write(config: Config, path: string): Promise<Written> {
  const { show: onProgress, end } = createProgress()
  const options = { path, key: config.backupKey, now: new Date(), onProgress }
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

async function targetOf({ backupKey }: Config, out: string): Promise<string> {
  const isFolder = (await stat(out).catch(() => null))?.isDirectory() ?? !/\.(tar|age)$/.test(out)
  return isFolder ? join(out, backupName(new Date(), backupKey !== null)) : out
}

function describe({ path, bytes, files, seconds, removed }: Outcome): string {
  const size = `${megabytes(bytes)}, ${files} files, in ${seconds} s, read again and checked`
  return [`${path}: ${size}.`, ...removed.map((one) => `Removed ${one}.`)].join('\n')
}
