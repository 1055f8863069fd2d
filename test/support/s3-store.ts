import { expect } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDiskSpace } from '../../src/features/attachments/storage/disk-space.ts'
import { createS3Client } from '../../src/features/attachments/storage/s3/client.ts'
import { createS3Files } from '../../src/features/attachments/storage/s3/files.ts'
import type { AppError } from '../../src/lib/errors.ts'
import { newKey } from '../../src/lib/ids.ts'
import { startS3 } from './s3-server.ts'

export const ACCOUNT = { bucket: 'files', accessKeyId: 'key', secretAccessKey: 'secret' }

/** An S3 store on loopback, and file storages that use it, with caches in a temporary folder. */
export async function startStore() {
  const s3 = await startS3(ACCOUNT)
  const folder = mkdtempSync(join(tmpdir(), 'homeport-s3-'))
  const path = (...names: string[]) => join(folder, ...names)
  return { s3, path, client, files, otherFiles, stage, keep, [Symbol.asyncDispose]: dispose }

  type Settings = Partial<
    Parameters<typeof createS3Client>[0] & Parameters<typeof createS3Files>[0]
  >

  function client(settings: Settings = {}) {
    const location = { endpoint: s3.url, region: 'us-east-1', prefix: 'home' }
    return createS3Client({ ...location, ...ACCOUNT, ...settings })
  }

  function files(settings: Settings = {}) {
    const { cacheFolder = path('cache'), cacheBytes = 1e9, now = Date.now } = settings
    const { space = createDiskSpace(folder, 0) } = settings
    return createS3Files({ client: client(settings), cacheFolder, cacheBytes, space, now })
  }

  function stage(content: string) {
    const key = `${newKey()}.txt`
    const staged = path(`staged-${key}`)
    writeFileSync(staged, content)
    return { key, path: staged }
  }

  async function keep(content: string, target = files()) {
    const staged = stage(content)
    await target.keep(staged.path, staged.key)
    return staged
  }

  /** The files as seen by another instance, with its own cache. */
  function otherFiles(settings: Settings = {}) {
    return files({ cacheFolder: path('other'), ...settings })
  }

  async function dispose() {
    await s3.stop()
    rmSync(folder, { recursive: true })
  }
}

/** Expects `work` to fail because the store is unavailable, and returns the cause. */
export async function causeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 })
  expect(Bun.inspect(error)).not.toContain('X-Amz')
  return ((error as AppError).cause as Error).message
}
