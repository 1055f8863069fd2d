import { existsSync } from 'node:fs'
import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { EXIT, type OnProgress } from '../../lib/command.ts'
import { hashFile } from '../../lib/crypto/hash.ts'
import {
  addPathToErrors,
  readNames,
  renameDurably,
  syncPath,
} from '../../lib/files/durable-file.ts'
import { readMigrations } from '../../platform/db/migrations.ts'
import { foreignObject } from '../../platform/db/sqlite/foreign-objects.ts'
import { countAppliedMigrations } from '../../platform/db/sqlite/open.ts'
import { BUILD } from '../../version.ts'
import type { InstallationKey } from '../data/installation-keys.ts'
import { programCommand } from '../processes/program-command.ts'
import { listStopSignals } from '../processes/stop-signals.ts'
import { ArchiveError, packArchive, type Source, unpackArchive } from './archive.ts'
import { backupExists, unfinishedPath } from './backups.ts'
import { encrypt, isRecipient, openArchive } from './encryption.ts'
import { KNOWN_NAME } from './read-backup.ts'
import { uploadBackup } from './store/bucket.ts'
import { formatTarget, type Target } from './target.ts'

type BackupOptions = {
  /** A folder with copies of the database, the secrets and the attachments. */
  folder: string
  /** A file there is replaced once the new archive is complete and verified. */
  target: Target
  /** Whether no file was there when the backup began. A file created since then is not replaced. */
  isNew: boolean
  /** The key to encrypt with; null to write it unencrypted. */
  key: string | null
  keys: InstallationKey[]
  now: Date
  onProgress: OnProgress
}
export type WriteResult = { bytes: number; files: number }

/** Sync after this many bytes, so that no fsync of the server waits for the whole archive. */
const SYNC_BYTES = 2 * 1024 * 1024
/** How often the copy of the database is synced. */
const SYNC_INTERVAL_MS = 20

/** Writes and verifies an archive of the data in a folder. Leaves nothing behind when it throws. */
export async function writeBackup(options: BackupOptions): Promise<WriteResult> {
  const { folder, target, isNew, key, keys, now, onProgress } = options
  const { location, name } = target
  const database = join(folder, 'homeport.db')
  const foreign = foreignObject(database, readMigrations('sqlite'))
  if (foreign !== null) {
    throw new ArchiveError(
      `The database has the ${foreign}, which homeport did not create and a restore would refuse: drop it, for example with sqlite3.`,
    )
  }
  const createdAt = now.toISOString()
  const about = {
    version: BUILD,
    schemaVersion: countAppliedMigrations(database),
    createdAt,
  }
  const sources = await listSources(folder)
  const total = sources.reduce((sum, { path: source }) => sum + Bun.file(source).size, 0)
  const countBytes = (step: string) => {
    let done = 0
    return (bytes: number) => {
      done += bytes
      onProgress(step, done, total)
    }
  }
  const archive = packArchive(about, sources, keys, countBytes('Writing'))
  const content = key === null ? archive : await encrypt(archive, key)
  const files = sources.length
  if (typeof location !== 'string') {
    return { bytes: await uploadBackup(location, name, content, total, requireFree), files }
  }
  const path = formatTarget(target)
  const partial = unfinishedPath(path)
  await rm(partial, { force: true })
  try {
    const { bytes, hash } = await addPathToErrors(partial, () => writeSynced(partial, content))
    // Read it back from the disk, as a restore will.
    if (key !== null && isRecipient(key)) await checkHash(partial, hash)
    else await checkArchive(partial, key, keys, countBytes('Checking'))
    await requireFree()
    await renameDurably(partial, path)
    return { bytes, files }
  } finally {
    await rm(partial, { force: true })
  }

  async function requireFree() {
    if (!isNew || !(await backupExists(location, name))) return
    throw new ArchiveError(
      `${formatTarget(target)} was created in the meantime and was not replaced: run this again.`,
    )
  }
}

/** The folders in which backups collect data, including those of earlier versions. */
export function backupFolders(dataDir: string): string[] {
  return [backupFolder(dataDir), join(dataDir, 'gathered.tmp')]
}

export function backupFolder(dataDir: string): string {
  return join(dataDir, 'backup.tmp')
}

/** Copies the database in a child process, and syncs the copy while it grows. */
export async function copyDatabase(from: string, to: string, onProgress: OnProgress) {
  // Registered before the child starts: without it, the child would go on copying for minutes.
  const stop = () => {
    child.kill('SIGKILL')
    process.exit(EXIT.failed)
  }
  const signals = listStopSignals()
  for (const signal of signals) process.once(signal, stop)
  const child = Bun.spawn(programCommand('copy-database', from, to), {
    stdin: 'ignore',
    stderr: 'pipe',
  })
  const total = Bun.file(from).size
  const error = child.stderr.text()
  // A process killed by a signal has no exit code.
  while (child.exitCode === null && child.signalCode === null) {
    await Promise.race([child.exited, Bun.sleep(SYNC_INTERVAL_MS)])
    if (!existsSync(to)) continue
    await syncPath(to)
    onProgress('Copying the database', Bun.file(to).size, total)
  }
  for (const signal of signals) process.off(signal, stop)
  if (child.signalCode !== null) {
    throw new ArchiveError(
      `The process that copies the database was killed by ${child.signalCode}, perhaps for lack of memory: run this again.`,
    )
  }
  if (child.exitCode !== 0) throw new ArchiveError((await error).trim())
}

/** Leaves out working folders, secrets that are still being written, and files that are not ours. */
async function listSources(folder: string): Promise<Source[]> {
  const sources: Source[] = [{ name: 'homeport.db', path: join(folder, 'homeport.db') }]
  const prefixes = await readNames(join(folder, 'files'))
  const parts = ['secrets', ...prefixes.map((prefix) => `files/${prefix}`)]
  for (const part of parts.filter((name) => KNOWN_NAME.test(`${name}/x`))) {
    for (const file of (await readdir(join(folder, part))).toSorted()) {
      const name = `${part}/${file}`
      if (!KNOWN_NAME.test(name) || name.endsWith('.tmp')) continue
      sources.push({ name, path: join(folder, name) })
    }
  }
  return sources
}

async function writeSynced(path: string, content: ReadableStream<Uint8Array>) {
  await using file = await open(path, 'wx', 0o600)
  const hasher = new Bun.CryptoHasher('sha256')
  let bytes = 0
  let synced = 0
  for await (const chunk of content) {
    hasher.update(chunk)
    await file.writeFile(chunk)
    bytes += chunk.byteLength
    if (bytes - synced < SYNC_BYTES) continue
    await file.datasync()
    synced = bytes
  }
  await file.sync()
  return { bytes, hash: hasher.digest('hex') }
}

/** With only the recipient's public key, we can check that the disk stored the archive, but not decrypt it. */
async function checkHash(path: string, expected: string) {
  if ((await hashFile(path)) !== expected)
    throw new ArchiveError(`${path} differs from what was written: check the disk.`)
}

async function checkArchive(
  path: string,
  key: string | null,
  keys: InstallationKey[],
  onRead: (bytes: number) => void,
) {
  const { archive } = await openArchive(Bun.file(path).stream(), key)
  await unpackArchive(
    archive,
    keys,
    () => {},
    async ({ content }) => {
      for await (const { byteLength } of content) onRead(byteLength)
    },
  )
}
