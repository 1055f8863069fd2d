import { existsSync } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { namingPath } from '../../lib/durable-file.ts'
import type { Migration } from '../../platform/db/migrations.ts'
import { foreignObject } from '../../platform/db/sqlite/foreign-objects.ts'
import { isIntact, reasonNotToOpen } from '../../platform/db/sqlite/open.ts'
import type { InstallationKey } from '../installation-keys.ts'
import { ArchiveError, type ArchiveInfo, printable, unpackArchive } from './archive.ts'
import { openArchive, PASSPHRASE } from './encryption.ts'

type ReadOptions = {
  path: string
  /** The passphrase or identity of an encrypted one. */
  key: string | null
  /** Those of this installation: what one of them has signed is its own. */
  keys: InstallationKey[]
  /** Read it whoever may have written it. */
  isTrusted: boolean
  /** Whether backups of this installation are encrypted. */
  mustBeEncrypted: boolean
  /** A new folder for what is read. */
  folder: string
  /** What this program's database has had: more than these are refused. */
  migrations: Migration[]
  /** Leave the attachments in the archive: they are read and checked all the same. */
  onlyCheck: boolean
  onProgress: (done: number, total: number) => void
}
export type Read = Pick<ArchiveInfo, 'version' | 'schemaVersion' | 'createdAt'> & {
  files: number
  bytes: number
  /** What tells who has written it; null for nothing. */
  proof: Proof | null
}
type Proof = 'signature' | 'passphrase'

/** Secrets are read whole, and are far smaller. */
const SECRET_LIMIT = 1024 * 1024
/** Nothing else is in an archive, and nothing else is written. */
const KNOWN_NAME = /^(homeport\.db|secrets\/[\w-][\w.-]*|files\/[\w-]\/[\w-][\w.-]*)$/

/**
 * Reads a whole archive into `folder` and checks every byte, the database, and who has written it. Throws
 * `ArchiveError` when it is not a good backup that this program can use; the folder is gone then.
 */
export async function readBackup(options: ReadOptions): Promise<Read> {
  const { path, key, keys, isTrusted, mustBeEncrypted, folder, migrations, onlyCheck } = options
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  let files = 0
  let bytes = 0
  const total = Bun.file(path).size
  try {
    const { archive, encryption } = await openArchive(path, key)
    if (encryption === null && mustBeEncrypted && !isTrusted) throw unencrypted()
    let proof: Proof | null = encryption === PASSPHRASE ? 'passphrase' : null
    // Who has waited for hours should not be told then.
    const judge = (info: ArchiveInfo, isOwn: boolean) => {
      if (isOwn) proof = 'signature'
      if (proof === null && !isTrusted) throw unproven(info, keys)
    }
    const info = await unpackArchive(archive, keys, judge, async (file) => {
      if (!KNOWN_NAME.test(file.name))
        throw new ArchiveError(`It holds ${printable(file.name)}, which is none of ours.`)
      if (file.name.startsWith('secrets/') && file.size > SECRET_LIMIT)
        throw new ArchiveError(`It holds a secret of ${file.size} bytes, which is none of ours.`)
      files++
      const target = onlyCheck && file.name !== 'homeport.db' ? null : join(folder, file.name)
      await namingPath(target ?? path, async () => {
        await using output = target === null ? null : await create(target)
        for await (const chunk of file.content) {
          await output?.writeFile(chunk)
          bytes += chunk.byteLength
          options.onProgress(bytes, total)
        }
        await output?.sync()
      })
    })
    if (info.schemaVersion > migrations.length) {
      throw new ArchiveError(
        `It was written by homeport ${info.version}, which is newer: take that version.`,
      )
    }
    const database = join(folder, 'homeport.db')
    const canOpen = existsSync(database) && (await reasonNotToOpen(database, migrations)) === null
    const foreign = canOpen ? foreignObject(database, migrations) : null
    if (foreign !== null) {
      throw new ArchiveError(
        `Its database has the ${printable(foreign)}, which homeport has not made: take another backup.`,
      )
    }
    if (!canOpen || !isIntact(database))
      throw new ArchiveError('Its database is damaged: take another backup.')
    const { version, schemaVersion, createdAt } = info
    return { version, schemaVersion, createdAt, files, bytes, proof }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

function unencrypted(): ArchiveError {
  return new ArchiveError(
    'It is not encrypted, as backups of this installation are: anybody may have written it. If it is yours, add --trust.',
  )
}

function unproven({ format }: ArchiveInfo, keys: InstallationKey[]): ArchiveError {
  const why =
    format === 1
      ? 'It is of a version that did not sign its backups'
      : keys.length === 0
        ? 'As on a new machine, DATA_DIR has no key to tell who has written it'
        : 'It was not signed by this installation'
  return new ArchiveError(`${why}. If it is from where you alone keep your backups, add --trust.`)
}

async function create(path: string) {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  return open(path, 'wx', 0o600)
}
