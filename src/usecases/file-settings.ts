import { join } from 'node:path'
import type { Config } from '../config.ts'
import { createFiles, type Files } from '../features/attachments/storage/files.ts'
import { createS3Client } from '../features/attachments/storage/s3-client.ts'
import { createS3Files } from '../features/attachments/storage/s3-files.ts'

/**
 * Where the files of people are kept, by the configuration: in `folder`, or in the store of `FILES_URL`, which is read
 * through a folder of the name `cache` in it.
 */
export function filesOf(config: Config, folder: string, cache = 'cache'): Files {
  const { filesUrl, s3, filesCacheBytes: cacheBytes } = config
  if (!filesUrl) return createFiles(folder)
  const client = createS3Client({ ...filesUrl, ...s3 })
  return createS3Files({ client, cacheFolder: join(folder, cache), cacheBytes })
}
