import { join } from 'node:path'
import { isSecureInTransit } from '../../../config/values.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { Platform } from '../../../platform/feature.ts'
import { createDiskSpace } from './disk-space.ts'
import { CACHE_FOLDER, createFiles, type Files } from './files.ts'
import { createS3Client } from './s3/client.ts'
import { createS3Files } from './s3/files.ts'

type Config = Platform<Db<unknown>>['config']
type FileSettings = Pick<Config, 'filesUrl' | 's3' | 'filesCacheBytes' | 'minFreeBytes'>

/** Null if the connection is secure. */
export function describeInsecureStore({ filesUrl }: Pick<FileSettings, 'filesUrl'>): string | null {
  if (!filesUrl || isSecureInTransit(new URL(filesUrl.endpoint))) return null
  return `FILES_URL points to ${new URL(filesUrl.endpoint).host} over http: others on the network can read and replace files. Use an https endpoint.`
}

/** Throws `unavailable` unless the store at `FILES_URL` accepts a file. */
export async function probeStore(config: FileSettings) {
  await createStoreClient(config)?.probe()
}

/** Null if `FILES_URL` is not set. */
export function createStoreClient({ filesUrl, s3 }: Pick<FileSettings, 'filesUrl' | 's3'>) {
  return filesUrl ? createS3Client({ ...filesUrl, ...s3 }) : null
}

/** The local `folder`, or the `FILES_URL` store, read through `cache` inside `folder`. */
export function createConfiguredFiles(
  config: FileSettings,
  folder: string,
  cache = CACHE_FOLDER,
  space = createDiskSpace(folder, config.minFreeBytes),
  mayDelete?: () => Promise<boolean>,
): Files {
  const { filesCacheBytes: cacheBytes } = config
  const client = createStoreClient(config)
  if (client === null) return createFiles(folder)
  const cacheFolder = join(folder, cache)
  return createS3Files({ client, cacheFolder, cacheBytes, space, ...(mayDelete && { mayDelete }) })
}
