import { join } from 'node:path'
import { isSecureInTransit } from '../../../lib/setting-values.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { Platform } from '../../../platform/feature.ts'
import { createDiskSpace } from './disk-space.ts'
import { CACHE_FOLDER, createFiles, type Files } from './files.ts'
import { createS3Client } from './s3-client.ts'
import { createS3Files } from './s3-files.ts'

type Config = Platform<Db<unknown>>['config']
type FileSettings = Pick<Config, 'filesUrl' | 's3' | 'filesCacheBytes' | 'minFreeBytes'>

/** Describes an insecure connection to the `FILES_URL` store; null if it is secure. */
export function describeInsecureStore({ filesUrl }: Pick<FileSettings, 'filesUrl'>): string | null {
  if (!filesUrl || isSecureInTransit(new URL(filesUrl.endpoint))) return null
  return `FILES_URL points to ${new URL(filesUrl.endpoint).host} over http: others on the network can read and replace files. Use an https endpoint.`
}

/** Throws `unavailable` unless the store at `FILES_URL` takes a file. */
export async function probeStore({ filesUrl, s3 }: FileSettings) {
  if (filesUrl) await createS3Client({ ...filesUrl, ...s3 }).probe()
}

/**
 * The configured file storage: the local `folder`, or the `FILES_URL` store, read through the cache folder `cache`
 * inside `folder`.
 */
export function createConfiguredFiles(
  config: FileSettings,
  folder: string,
  cache = CACHE_FOLDER,
  space = createDiskSpace(folder, config.minFreeBytes),
): Files {
  const { filesUrl, s3, filesCacheBytes: cacheBytes } = config
  if (!filesUrl) return createFiles(folder)
  const client = createS3Client({ ...filesUrl, ...s3 })
  return createS3Files({ client, cacheFolder: join(folder, cache), cacheBytes, space })
}
