import { existsSync } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { addPathToErrors } from '../../lib/files/durable-file.ts'
import type { Migration } from '../../platform/db/migrations.ts'
import { foreignObject } from '../../platform/db/sqlite/foreign-objects.ts'
import { explainCannotOpen, isIntact } from '../../platform/db/sqlite/open.ts'
import type { InstallationKey } from '../data/installation-keys.ts'
import { ArchiveError, type ArchiveInfo, printable, unpackArchive } from './archive.ts'
import { openArchive, PASSPHRASE } from './encryption.ts'
import type { ArchiveSource } from './store/archive-source.ts'

type ReadOptions = {
  source: ArchiveSource
  /** The passphrase or age identity of an encrypted backup. */
  key: string | null
  /** The keys of this installation, which sign its own backups. */
  keys: InstallationKey[]
  /** Accept the backup without proof of who wrote it. */
  isTrusted: boolean
  /** Whether backups of this installation are encrypted. */
  mustBeEncrypted: boolean
  /** A new folder to extract to. */
  folder: string
  /** The migrations that this version knows; a backup with more is refused. */
  migrations: Migration[]
  /** Check the attachments without extracting them. */
  checkOnly: boolean
  onProgress: (done: number, total: number) => void
}
type ReadResult = Pick<ArchiveInfo, 'version' | 'schemaVersion' | 'createdAt'> & {
  files: number
  bytes: number
  proof: Proof | null
}
type Proof = 'signature' | 'passphrase'

/** Real secrets are far smaller. */
const MAX_SECRET_BYTES = 1024 * 1024
/** The only names allowed in an archive, so that extracting it cannot write any other file. */
export const KNOWN_NAME = /^(homeport\.db|secrets\/[\w-][\w.-]*|files\/[\w-]\/[\w-][\w.-]*)$/

/** Extracts and checks an archive. Throws `ArchiveError`, and removes the folder, when the backup cannot be used. */
export async function readBackup(options: ReadOptions): Promise<ReadResult> {
  const { source, key, keys, isTrusted, mustBeEncrypted, folder, migrations, checkOnly } = options
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  let files = 0
  let bytes = 0
  try {
    const { archive, encryption } = await openArchive(source.stream(), key)
    if (encryption === null && mustBeEncrypted && !isTrusted) throw unencrypted()
    let proof: Proof | null = encryption === PASSPHRASE ? 'passphrase' : null
    // Refuse a backup immediately, not after hours of reading.
    const checkProof = (info: ArchiveInfo, isSignedByUs: boolean) => {
      if (isSignedByUs) proof = 'signature'
      if (proof === null && !isTrusted) throw unknownAuthor(info, keys)
    }
    const info = await unpackArchive(archive, keys, checkProof, async (file) => {
      if (!KNOWN_NAME.test(file.name))
        throw new ArchiveError(`The backup contains the unknown file ${printable(file.name)}.`)
      if (file.name.startsWith('secrets/') && file.size > MAX_SECRET_BYTES)
        throw new ArchiveError(
          `The backup contains a secret of ${file.size} bytes, which is too large to be valid.`,
        )
      files++
      const target = checkOnly && file.name !== 'homeport.db' ? null : join(folder, file.name)
      await addPathToErrors(target ?? source.path, async () => {
        await using output = target === null ? null : await create(target)
        for await (const chunk of file.content) {
          await output?.writeFile(chunk)
          bytes += chunk.byteLength
          options.onProgress(bytes, source.size)
        }
        await output?.sync()
      })
    })
    if (info.schemaVersion > migrations.length) {
      throw new ArchiveError(
        `The backup was written by homeport ${info.version}, which is newer: use that version.`,
      )
    }
    const database = join(folder, 'homeport.db')
    const canOpen = existsSync(database) && (await explainCannotOpen(database, migrations)) === null
    const foreign = canOpen ? foreignObject(database, migrations) : null
    if (foreign !== null) {
      throw new ArchiveError(
        `The database in the backup has the ${printable(foreign)}, which homeport did not create: use another backup.`,
      )
    }
    if (!canOpen || !isIntact(database))
      throw new ArchiveError('The database in the backup is damaged: use another backup.')
    const { version, schemaVersion, createdAt } = info
    return { version, schemaVersion, createdAt, files, bytes, proof }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

function unencrypted(): ArchiveError {
  return new ArchiveError(
    'The backup is not encrypted, although this installation encrypts its backups: anyone could have written it. If it is yours, add --trust.',
  )
}

function unknownAuthor({ format }: ArchiveInfo, keys: InstallationKey[]): ArchiveError {
  const why =
    format === 1
      ? 'The backup was written by a version that did not sign backups'
      : keys.length === 0
        ? "DATA_DIR has no key to verify the backup's signature, which is normal on a new machine"
        : 'The backup was not signed by this installation'
  return new ArchiveError(`${why}. If only you can write to your backup folder, add --trust.`)
}

async function create(path: string) {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  return open(path, 'wx', 0o600)
}
