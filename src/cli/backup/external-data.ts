import { mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import type { Config } from '../../config/config.ts'
import { createConfiguredFiles } from '../../features/attachments/storage/file-settings.ts'
import { createFiles, type Files } from '../../features/attachments/storage/files.ts'
import { KINDS } from '../../features/changes/streams.ts'
import { CommandError, type OnProgress } from '../../lib/command.ts'
import { newId } from '../../lib/ids.ts'
import { versionAfterRestore } from '../../platform/db/sqlite/record-restore.ts'
import { copyAll, copyInto } from '../copy/db-copy.ts'
import { copyFiles, SOURCE } from '../copy/files-copy.ts'
import { openPostgresTarget, openSqliteSide, type Side } from '../copy/source-and-target.ts'
import { backupFolder, backupFolders, copyDatabase } from './write-backup.ts'

/** Whether some of the data is outside the data directory. */
export function hasExternalData({ databaseUrl, filesUrl }: Config): boolean {
  return databaseUrl !== null || Boolean(filesUrl)
}

/** Collects the data in a folder, so that all backups have the same format. Dispose of the result to remove it. */
export async function gatherData(config: Config, onProgress: OnProgress) {
  const { dataDir, databaseUrl } = config
  // A child process of an interrupted backup may still be writing to that backup's folder.
  const folder = join(backupFolder(dataDir), String(process.pid))
  async function removeAll() {
    for (const path of backupFolders(dataDir)) await rm(path, { recursive: true, force: true })
  }
  await using cleanup = new AsyncDisposableStack()
  await removeAll()
  cleanup.defer(removeAll)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // Copy the database first: all its attachments are already stored, and more may be added during the copy.
  if (databaseUrl !== null) await copyInto(folder, databaseUrl, config, null)
  else {
    await copyDatabase(join(dataDir, 'homeport.db'), join(folder, 'homeport.db'), onProgress)
    await link('secrets')
  }
  if (config.filesUrl) {
    const store = createConfiguredFiles(config, join(dataDir, 'files'), SOURCE)
    cleanup.defer(() => rm(join(dataDir, 'files', SOURCE), { recursive: true, force: true }))
    await requireFilesInStore(createFiles(join(dataDir, 'files')), store, dataDir)
    await copyFiles(store, { ...config, filesUrl: null }, join(folder, 'files'), onProgress)
  } else {
    await mkdir(join(dataDir, 'files'), { recursive: true, mode: 0o700 })
    await link('files')
  }
  const stack = cleanup.move()
  return { folder, [Symbol.asyncDispose]: () => stack.disposeAsync() }

  function link(name: string) {
    return symlink(join(dataDir, name), join(folder, name))
  }
}

/** Throws if the object store is still empty: the backup would contain no attachments. */
async function requireFilesInStore(local: Files, store: Files, dataDir: string) {
  if ((await isEmpty(local)) || !(await isEmpty(store))) return
  throw new CommandError(
    `The store at FILES_URL is empty, but ${dataDir}/files has attachments: back them up without FILES_URL, or move them with "homeport files copy --to" first.`,
  )
}

async function isEmpty(files: Files): Promise<boolean> {
  for await (const _ of files.list()) return false
  return true
}

/** Moves restored data to the configured database server and object store; all other data stays in `folder`. */
export async function distributeData(config: Config, folder: string, onProgress: OnProgress) {
  const { dataDir, databaseUrl, filesUrl } = config
  if (databaseUrl !== null) {
    await using from = await openSqliteSide(folder, 'migrate')
    await using to = await openPostgresTarget(
      databaseUrl,
      config,
      'use an empty database',
      'DATABASE_URL',
    )
    await copyAll(from, to, 'use an empty database and restore again')
    await moveFiles()
    await recordRestore(to)
    // Until this call, servers refuse to start on the target database.
    await to.markCopyFinished()
  } else if (filesUrl) await moveFiles()

  /** Makes apps read everything again, because they may have newer content than the backup. */
  async function recordRestore({ db }: Side) {
    const { userChanges, contentVersions } = db.tables
    await db.write(async (tx) => {
      const version = sql`greatest(${contentVersions.version} + 1, ${versionAfterRestore()}::bigint)`
      await tx.update(contentVersions).set({ version })
      for (const kind of KINDS) {
        const changeId = newId()
        await tx
          .insert(userChanges)
          .values({ key: kind, userId: null, kind, changeId })
          .onConflictDoUpdate({ target: userChanges.key, set: { changeId } })
      }
    })
  }

  async function moveFiles() {
    await copyFiles(createFiles(join(folder, 'files')), config, join(dataDir, 'files'), onProgress)
    await createConfiguredFiles(config, join(dataDir, 'files')).recordRestore()
    await rm(join(folder, 'files'), { recursive: true, force: true })
  }
}
