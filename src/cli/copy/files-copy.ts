import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { s3Url } from '../../config/values.ts'
import { createConfiguredFiles } from '../../features/attachments/storage/file-settings.ts'
import type { Files } from '../../features/attachments/storage/files.ts'
import { CommandError, type OnProgress, UsageError } from '../../lib/command.ts'
import { createTaskQueue } from '../../lib/concurrency/slots.ts'
import { hashFile } from '../../lib/crypto/hash.ts'
import { newKey } from '../../lib/ids.ts'
import { localCommand } from '../command.ts'
import { requireData } from '../data/data-directory.ts'
import { createProgress } from '../terminal.ts'
import { describeMissing, readRowKeys } from './row-keys.ts'

export const filesCopy = localCommand({
  name: 'files copy',
  summary: 'Copy the attachments to an S3 store, or back; resumes after an interruption',
  options: [
    ['--to <url>', 'from the files in DATA_DIR to this s3:// URL, as in FILES_URL'],
    ['--from <url>', 'from this s3:// URL to the files in DATA_DIR'],
    ['--data-dir <path>', 'overrides DATA_DIR'],
  ],
  work: async (loadConfig, { to, from }) => {
    const config = loadConfig()
    const url = to ?? from
    if ((to === undefined) === (from === undefined) || typeof url !== 'string')
      throw new UsageError('Choose --to or --from, with an s3:// URL.')
    const filesUrl = s3Url(url)
    if (!filesUrl) throw new UsageError('The URL must be s3://bucket/prefix?endpoint=…&region=….')
    await requireData(config)
    process.umask(0o077)
    const started = performance.now()
    const folder = join(config.dataDir, 'files')
    const local = { ...config, filesUrl: null }
    const store = { ...config, filesUrl }
    using progress = createProgress()
    const [source, target] = to === undefined ? [store, local] : [local, store]
    const files = createConfiguredFiles(source, folder, SOURCE)
    const rows = await readRowKeys(config)
    const { keys, ...count } = await copyFiles(files, target, folder, progress.show).finally(() =>
      rm(join(folder, SOURCE), { recursive: true, force: true }),
    )
    const seconds = Math.round(performance.now() - started) / 1000
    const problem = await describeMissing(
      config,
      rows.filter((key) => !keys.has(key)),
    )
    return { ...count, seconds, problem }
  },
  print: ({ copied, there, seconds }) =>
    `Copied ${copied} files in ${seconds} s, ${there} already existed; all were compared.`,
  findProblem: ({ problem }) => problem,
})

const CONCURRENCY = 8
/** The cache folders for files read from the source store, and for files read back from the target store. */
export const SOURCE = 'source'
const COMPARED = 'compared'

/**
 * Copies the missing files to the file store of `to`, then compares the SHA-256 of every file. `folder` has the local
 * files. Skips files that are deleted during the copy. Throws `CommandError` when a file differs.
 */
export async function copyFiles(from: Files, to: Config, folder: string, onProgress: OnProgress) {
  const work = join(folder, 'tmp')
  const removeCopies = () => rm(join(folder, COMPARED), { recursive: true, force: true })
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(removeCopies)
  const openTarget = () => createConfiguredFiles({ ...to, filesCacheBytes: 0 }, folder, COMPARED)
  const target = openTarget()
  await mkdir(work, { recursive: true, mode: 0o700 })
  const keys = await listKeys(from)
  const there = new Set(await listKeys(target))
  const missing = keys.filter((key) => !there.has(key))
  await forEachKey(missing, 'Copying', onProgress, async (key) => {
    const path = await fetchCopy(from, key, work)
    if (path !== null) await target.keep(path, key)
  })
  // Read the files back from the store, not from its cache on this disk.
  await removeCopies()
  const reopened = openTarget()
  await forEachKey(keys, 'Comparing', onProgress, async (key) => {
    const expected = await hashStored(from, key)
    if (expected !== null && (await hashStored(reopened, key)) !== expected)
      throw new CommandError(`The copy of ${key} differs: remove it and copy again.`)
  })
  return { copied: missing.length, there: keys.length - missing.length, keys: new Set(keys) }
}

async function listKeys(files: Files): Promise<string[]> {
  const found = await Array.fromAsync(files.list())
  return found.map(({ key }) => key)
}

async function forEachKey(
  keys: string[],
  step: string,
  onProgress: OnProgress,
  work: (key: string) => Promise<void>,
) {
  let done = 0
  const limit = createTaskQueue({
    limit: CONCURRENCY,
    queueLimit: Number.POSITIVE_INFINITY,
    onFull: () => new Error('the queue has no limit'),
  })
  await Promise.all(
    keys.map((key) =>
      limit(async () => {
        await work(key)
        onProgress(step, ++done, keys.length)
      }),
    ),
  )
}

/** The target may move the copy from its temporary path. Null when the file was deleted. */
async function fetchCopy(files: Files, key: string, work: string): Promise<string | null> {
  const opened = await files.open(key)
  if (!opened) return null
  const path = join(work, newKey())
  try {
    await Bun.write(path, opened.file)
    return path
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
}

async function hashStored(files: Files, key: string): Promise<string | null> {
  const opened = await files.open(key)
  return opened && hashFile(opened.file.name ?? '')
}
