import { mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { filesOf } from '../../features/attachments/storage/file-settings.ts'
import { createFiles } from '../../features/attachments/storage/files.ts'
import { copyAll, copyInto } from '../copy/db-copy.ts'
import { copyFiles } from '../copy/files-copy.ts'
import { postgresTarget, sqliteSide } from '../copy/sides.ts'
import type { OnProgress } from '../terminal.ts'
import { gatherFolder } from './write-backup.ts'

/** Whether the data is elsewhere, in whole or in part, than in the data directory. */
export function isShared({ databaseUrl, filesUrl }: Config): boolean {
  return databaseUrl !== null || Boolean(filesUrl)
}

/**
 * A data directory with everything that servers and stores hold, so that a backup has one format wherever the data is.
 * What is on the disk anyway is linked. Dispose of it afterwards.
 */
export async function gatherData(config: Config, onProgress: OnProgress) {
  const { dataDir, databaseUrl } = config
  const folder = gatherFolder(dataDir)
  await using cleanup = new AsyncDisposableStack()
  await rm(folder, { recursive: true, force: true })
  cleanup.defer(() => rm(folder, { recursive: true, force: true }))
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if (databaseUrl === null) await link('homeport.db', 'secrets')
  else await copyInto(folder, databaseUrl, config, null)
  if (config.filesUrl) {
    const store = filesOf(config, join(dataDir, 'files'))
    await copyFiles(store, { ...config, filesUrl: null }, join(folder, 'files'), onProgress)
  } else {
    await mkdir(join(dataDir, 'files'), { recursive: true, mode: 0o700 })
    await link('files')
  }
  const stack = cleanup.move()
  return { dataDir: folder, [Symbol.asyncDispose]: () => stack.disposeAsync() }

  async function link(...names: string[]) {
    for (const name of names) await symlink(join(dataDir, name), join(folder, name))
  }
}

/** Gives what a backup held, in `folder`, to the server and the store of the configuration; the rest stays there. */
export async function scatterData(config: Config, folder: string, onProgress: OnProgress) {
  const { dataDir, databaseUrl, filesUrl } = config
  if (databaseUrl !== null) {
    await using from = await sqliteSide(
      join(folder, 'homeport.db'),
      join(folder, 'secrets'),
      'migrate',
    )
    await using to = await postgresTarget(
      databaseUrl,
      config,
      'take an empty database',
      'DATABASE_URL',
    )
    await copyAll(from, to, 'take an empty database and restore again')
    await moveFiles()
    // Until then no server starts on it.
    await to.noteCopy(false)
  } else if (filesUrl) await moveFiles()

  async function moveFiles() {
    await copyFiles(createFiles(join(folder, 'files')), config, join(dataDir, 'files'), onProgress)
    await rm(join(folder, 'files'), { recursive: true, force: true })
  }
}
