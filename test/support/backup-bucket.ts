import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bucket, bucketPath } from '../../src/cli/backup/store/bucket.ts'
import { writeBackup } from '../../src/cli/backup/write-backup.ts'
import { openData } from '../../src/cli/data/open-data.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/lib/log/log.ts'
import { ON_DISK } from './databases.ts'
import { startS3 } from './s3-server.ts'

export const KEYS = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' }

/** A store on loopback that is the `BACKUP_DIR` of a new data directory. */
export async function startBackupBucket() {
  const s3 = await startS3({ bucket: 'backups', accessKeyId: 'id', secretAccessKey: 'secret' })
  const folder = await mkdtemp(join(tmpdir(), 'homeport-bucket-'))
  const dataDir = join(folder, 'data')
  const environment = {
    DATA_DIR: dataDir,
    BACKUP_DIR: `s3://backups/prod?endpoint=${s3.url}`,
    ...KEYS,
  }
  const config = configOf()
  await (await openData(config, createLog('silent')))[Symbol.asyncDispose]()
  const bucket = { ...(config.backupDir as object), ...config.backupS3 } as Bucket
  return {
    s3,
    folder,
    dataDir,
    environment,
    config,
    bucket,
    configOf,
    make,
    filesIn,
    [Symbol.asyncDispose]: dispose,
  }

  function configOf(changed: Record<string, string> = {}) {
    const base = { RATES_PROVIDER: 'off', MIN_FREE_BYTES: '0', ...ON_DISK }
    return readConfig({}, { ...base, ...environment, ...changed })
  }

  /** Stores a backup of the data directory, and returns its path. */
  async function make(
    name: string,
    { key = null, onProgress = () => {} }: { key?: string | null; onProgress?: () => void } = {},
  ): Promise<string> {
    const target = { location: bucket, name }
    const options = { folder: dataDir, target, isNew: true, key, keys: [], now: new Date() }
    await writeBackup({ ...options, onProgress })
    return bucketPath(bucket, name)
  }

  /** The files in a folder that belong in a backup, with the hashes of their contents. */
  async function filesIn(path: string): Promise<Record<string, string>> {
    const names = await readdir(path, { recursive: true, withFileTypes: true })
    const files = names.filter((entry) => entry.isFile())
    const paths = files.map(({ parentPath, name }) => join(parentPath, name))
    const ours = paths.filter((file) => /\/(homeport\.db|secrets\/\S+|files\/\S+)$/.test(file))
    const hashes = ours.map(async (file) => [
      file.slice(path.length + 1),
      Bun.hash(await Bun.file(file).bytes()).toString(),
    ])
    return Object.fromEntries((await Promise.all(hashes)).toSorted())
  }

  async function dispose() {
    await s3.stop()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
