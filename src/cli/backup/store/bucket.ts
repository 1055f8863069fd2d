import { createS3Client, type S3Settings } from '../../../features/attachments/storage/s3/client.ts'
import {
  listUnfinishedUploads,
  uploadInParts,
} from '../../../features/attachments/storage/s3/multipart.ts'

/** A backup location in an object store, with its credentials. */
export type Bucket = S3Settings

/** The names of all backups begin with this; listing other objects could take a long time. */
export const BACKUP_PREFIX = 'homeport-'
const MIN_PART_BYTES = 16 * 1024 * 1024
/** S3 allows 10,000; the rest leaves room for what an archive adds to its content. */
const MAX_PARTS = 8_000

/** The path of a backup as operators see it, without the endpoint. */
export function bucketPath({ bucket, prefix }: Bucket, name = ''): string {
  return `s3://${[bucket, prefix, name].filter((part) => part !== '').join('/')}`
}

/** Stores a backup of about `expectedBytes` and returns its size. `requireFree` throws if its name is now taken. */
export function uploadBackup(
  bucket: Bucket,
  name: string,
  content: AsyncIterable<Uint8Array>,
  expectedBytes: number,
  requireFree: () => Promise<void>,
): Promise<number> {
  const partBytes = Math.max(MIN_PART_BYTES, Math.ceil(expectedBytes / MAX_PARTS))
  return uploadInParts(createS3Client(bucket), name, content, partBytes, requireFree)
}

/** The content of a backup of `size` bytes, fetched as it is read. */
export function readFromBucket(bucket: Bucket, name: string, size: number) {
  const pieces = createS3Client(bucket).read(name, size)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await pieces.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => void pieces.return(undefined),
    },
    { highWaterMark: 0 },
  )
}

/** Removes the parts of uploads that were interrupted at least `ageMs` ago. */
export async function abortUploads(
  bucket: Bucket,
  isOurs: (name: string) => boolean,
  ageMs: number,
) {
  const client = createS3Client(bucket)
  for (const { key, uploadId, begunAt } of await listUnfinishedUploads(client, BACKUP_PREFIX))
    if (isOurs(key) && Date.now() - begunAt.getTime() >= ageMs)
      await client.call('DELETE', key, { uploadId })
}
