import { existsSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { KINDS } from '../../features/changes/streams.ts'
import { CommandError, EXIT } from '../../lib/command.ts'
import { freeSpace } from '../../lib/files/free-space.ts'
import { megabytes } from '../../lib/text/format.ts'
import { readMigrations } from '../../platform/db/migrations.ts'
import { recordRestore } from '../../platform/db/sqlite/record-restore.ts'
import { localCommand } from '../command.ts'
import { assertNotServiceDatabase, lockData } from '../data/data-directory.ts'
import { installationKeys } from '../data/installation-keys.ts'
import { assertNotMoved, databasePath } from '../data/open-sqlite.ts'
import { listStopSignals } from '../processes/stop-signals.ts'
import { readServiceRecord } from '../service/service-record.ts'
import { confirmRisk, createProgress } from '../terminal.ts'
import { distributeData, hasExternalData } from './external-data.ts'
import { readBackup } from './read-backup.ts'
import {
  commitRestore,
  extractionFolder,
  finishRestore,
  requireReplaceable,
} from './replace-data.ts'
import { type ArchiveSource, openSource } from './store/archive-source.ts'

/** What `restore --verify` reports about who wrote the backup. */
const PROOFS = {
  signature: 'This installation signed it.',
  passphrase: 'Only someone who knows the passphrase could have written it.',
  none: 'Nothing proves who wrote it: a restore needs --trust.',
}

export const restore = localCommand({
  name: 'restore',
  summary:
    'Replace the data with a backup (a path, s3://…, or - for standard input) and move the old data aside; the server must be stopped',
  arguments: '<file>',
  options: [
    ['--verify', 'only check the backup'],
    ['--trust', 'restore a backup even if nothing proves that it is yours'],
    ['--data-dir <path>', 'overrides DATA_DIR'],
    ['--yes', 'skip the confirmation'],
  ],
  work: async (loadConfig, { verify, trust, yes }, [file = '']) => {
    const config = loadConfig()
    const source = await openSource(config, file)
    const started = performance.now()
    // Only this user may read our files.
    process.umask(0o077)
    const result = verify
      ? await verifyBackup(config, source)
      : await replaceData(config, source, trust === true, yes === true)
    // Null if the data went to a database server.
    const dataDir = config.databaseUrl === null ? config.dataDir : null
    const seconds = Math.round(performance.now() - started) / 1000
    return { ...result, dataDir, path: source.path, seconds }
  },
  print: ({ path, version, createdAt, files, bytes, ...rest }) => {
    const { seconds, isRestored, aside, dataDir, proof } = rest
    const details = `from ${createdAt}, written by homeport ${version}: ${files} files, ${megabytes(bytes)}, in ${seconds} s`
    if (!isRestored) return `${path} is a valid backup ${details}. ${PROOFS[proof ?? 'none']}`
    const kept =
      aside === null ? [] : [`The old data is in ${aside}: remove it once everything works.`]
    const place = dataDir === null ? '' : ` to ${dataDir}`
    return [`Restored the backup${place} ${details}.`, ...kept, 'Start the server now.'].join('\n')
  },
})

async function verifyBackup(config: Config, source: ArchiveSource) {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-verify-'))
  // The folder holds the data of all users, unencrypted.
  const interrupt = () => {
    rmSync(folder, { recursive: true, force: true })
    process.exit(EXIT.failed)
  }
  const signals = listStopSignals()
  for (const signal of signals) process.once(signal, interrupt)
  try {
    return {
      ...(await readWithProgress(config, source, folder, { checkOnly: true, isTrusted: true })),
      isRestored: false,
      aside: null,
    }
  } finally {
    for (const signal of signals) process.off(signal, interrupt)
    await rm(folder, { recursive: true, force: true })
  }
}

async function replaceData(
  config: Config,
  source: ArchiveSource,
  isTrusted: boolean,
  isConfirmed: boolean,
) {
  const { dataDir } = config
  using _lock = await lockData(config)
  await finishRestore(dataDir)
  if (config.databaseUrl === null) {
    await assertNotMoved(config)
    assertNotServiceDatabase(config)
    requireReplaceable(dataDir)
  }
  if ((await freeSpace(dataDir)).bytes < source.size) {
    throw new CommandError(
      `${dataDir} needs ${megabytes(source.size)} of free space for this backup.`,
    )
  }
  const hasData = config.databaseUrl === null && existsSync(databasePath(config))
  if (hasData && !isConfirmed) {
    confirmRisk(`The data in ${dataDir} will be moved aside and replaced with the backup.`)
  }
  const folder = extractionFolder(dataDir)
  const result = await readWithProgress(config, source, folder, { checkOnly: false, isTrusted })
  if (hasExternalData(config)) {
    using progress = createProgress()
    try {
      await distributeData(config, folder, progress.show)
    } catch (error) {
      // The folder holds the data of all users, unencrypted.
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }
  if (config.databaseUrl !== null) {
    await rm(folder, { recursive: true })
    return { ...result, isRestored: true, aside: null }
  }
  recordRestore(join(folder, 'homeport.db'), KINDS)
  const replacedFolder = await commitRestore(dataDir, new Date())
  const aside = existsSync(replacedFolder) ? replacedFolder : null
  return { ...result, isRestored: true, aside }
}

async function readWithProgress(
  config: Config,
  source: ArchiveSource,
  folder: string,
  { checkOnly, isTrusted }: { checkOnly: boolean; isTrusted: boolean },
) {
  using progress = createProgress()
  const migrations = readMigrations('sqlite')
  const { backupKey: key, dataDir } = config
  const keys = await installationKeys(config)
  const mustBeEncrypted = (key ?? readServiceRecord(dataDir)?.backups ?? null) !== null
  const policy = { keys, isTrusted, mustBeEncrypted }
  const onProgress = (done: number, total: number) => progress.show('Reading', done, total)
  return await readBackup({ source, key, ...policy, folder, migrations, checkOnly, onProgress })
}
