import { mkdir, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Migration } from '../../db/migrations.ts'
import { isIntact, reasonNotToOpen } from '../../db/sqlite/open.ts'
import { ArchiveError, type ArchiveInfo, unpackArchive } from './archive.ts'
import { openArchive } from './encryption.ts'

type ReadOptions = {
  path: string
  /** The passphrase or identity of an encrypted one. */
  key: string | null
  /** A new folder for what is read. */
  folder: string
  /** What this program's database has had: more than these are refused. */
  migrations: Migration[]
  /** Leave the attachments in the archive: they are read and checked all the same. */
  onlyCheck: boolean
  onProgress: (done: number, total: number) => void
}
export type Read = ArchiveInfo & { files: number; bytes: number }

/** Nothing else is in an archive, and nothing else is written. */
const KNOWN_NAME = /^(homeport\.db|secrets\/[\w-][\w.-]*|files\/[\w-]\/[\w-][\w.-]*)$/

/**
 * Reads a whole archive into `folder` and checks every byte and the database. Throws `ArchiveError` when it is not a
 * good backup that this program can use; the folder is gone then.
 */
export async function readBackup(options: ReadOptions): Promise<Read> {
  const { path, key, folder, migrations, onlyCheck, onProgress } = options
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  let files = 0
  let bytes = 0
  const total = Bun.file(path).size
  try {
    const info = await unpackArchive(await openArchive(path, key), async (file) => {
      if (!KNOWN_NAME.test(file.name))
        throw new ArchiveError(`It holds ${file.name}, which is none of ours.`)
      files++
      const target = onlyCheck && file.name !== 'homeport.db' ? null : join(folder, file.name)
      await using output = target === null ? null : await create(target)
      for await (const chunk of file.content) {
        await output?.writeFile(chunk)
        bytes += chunk.byteLength
        onProgress(bytes, total)
      }
      await output?.sync()
    })
    if (info.schemaVersion > migrations.length) {
      throw new ArchiveError(
        `It was written by homeport ${info.version}, which is newer: take that version.`,
      )
    }
    const database = join(folder, 'homeport.db')
    const isGood = (await reasonNotToOpen(database, migrations)) === null && isIntact(database)
    if (!isGood) throw new ArchiveError('Its database is damaged: take another backup.')
    return { ...info, files, bytes }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

async function create(path: string) {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  return open(path, 'wx', 0o600)
}
