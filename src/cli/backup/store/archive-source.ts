import { access, constants, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Config } from '../../../config/config.ts'
import { s3Url } from '../../../config/values.ts'
import { createS3Client } from '../../../features/attachments/storage/s3/client.ts'
import { describeUnreadable, UsageError } from '../../../lib/command.ts'
import { type Bucket, bucketPath, readFromBucket } from './bucket.ts'

export type ArchiveSource = {
  path: string
  /** In bytes; 0 when unknown. */
  size: number
  stream: () => ReadableStream<Uint8Array>
}

const STDIN = '-'

/** Opens the archive named on the command line: a file, an S3 object or standard input. Throws `UsageError`. */
export async function openSource(config: Config, file: string): Promise<ArchiveSource> {
  if (file === STDIN) return { path: 'Standard input', size: 0, stream: () => Bun.stdin.stream() }
  if (/^s3:/i.test(file)) return openObject(config, file)
  const path = resolve(file)
  return { path, size: await readSize(path), stream: () => Bun.file(path).stream() }
}

/** Throws `UsageError` for a file that cannot be read. */
async function readSize(path: string): Promise<number> {
  const readable = access(path, constants.R_OK).then(() => stat(path))
  const found = await readable.catch((error) => {
    const advice = 'Ask its owner to pipe it to "homeport restore - --yes".'
    const isDenied = error.code === 'EACCES'
    throw new UsageError(describeUnreadable(path, error) + (isDenied ? ` ${advice}` : ''))
  })
  if (found.isFile()) return found.size
  throw new UsageError(`${path} is not a file: choose one that "homeport backup" wrote.`)
}

async function openObject({ backupDir, backupS3 }: Config, file: string): Promise<ArchiveSource> {
  const url = s3Url(file)
  const [, folder = '', name = ''] = /^(?:(.*)\/)?([^/]+)$/.exec(url?.prefix ?? '') ?? []
  if (!url || name === '')
    throw new UsageError(`${file} must be s3://bucket/prefix/name?endpoint=…&region=….`)
  if (!backupS3.accessKeyId || !backupS3.secretAccessKey)
    throw new UsageError(
      `Set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or both with the prefix BACKUP_, to read ${file}.`,
    )
  // `homeport backup` prints a path without the endpoint.
  const isWhole = file.includes('?') || backupDir === null || typeof backupDir === 'string'
  const { endpoint, region } = isWhole ? url : backupDir
  const bucket: Bucket = { bucket: url.bucket, prefix: folder, endpoint, region, ...backupS3 }
  const path = bucketPath(bucket, name)
  const found = await createS3Client(bucket).head(name)
  if (found === null) throw new UsageError(`There is no backup ${path}.`)
  const { size } = found
  return { path, size, stream: () => readFromBucket(bucket, name, size) }
}
