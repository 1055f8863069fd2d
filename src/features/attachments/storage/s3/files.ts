import { lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { chunk } from '../../../../lib/concurrency/chunk.ts'
import { createTaskQueue } from '../../../../lib/concurrency/slots.ts'
import { syncPath } from '../../../../lib/files/durable-file.ts'
import { newKey } from '../../../../lib/ids.ts'
import { createLastOutcome } from '../../../../lib/last-outcome.ts'
import { HOUR_MS, MINUTE_MS } from '../../../../lib/time/durations.ts'
import type { DiskSpace } from '../disk-space.ts'
import { type Files, RESTORED } from '../files.ts'
import type { S3Client } from './client.ts'

type S3FilesDeps = {
  client: S3Client
  /** On the same disk as the staging folder. */
  cacheFolder: string
  cacheBytes: number
  space: Pick<DiskSpace, 'reserve' | 'onShortage'>
  /** Whether this server may delete objects. */
  mayDelete?: () => Promise<boolean>
  now?: () => number
}

/** An opened file is read later, by its path: this exceeds the time that an image waits for and spends in a worker. */
const IN_USE_MS = 2 * MINUTE_MS
/** Probing only after a minute without uploads costs a few cents a month. */
const OUTCOME_LIFETIMES = { successMs: MINUTE_MS, failureMs: 5_000 }
const SWEEP_BATCH_SIZE = 500
/** An account can have thousands of files, and Bun sends at most 256 requests of any kind at once. */
const MAX_REMOVALS = 32
const PARTIAL_SUFFIX = '.part'
/** Originals and variants. Other objects in the bucket are not ours. */
const KEY_PATTERN = /^[a-z0-9]{26}\.[a-z0-9]{2,5}(\.w\d+\.[a-z]+)?$/

export function isFileKey(key: string): boolean {
  return KEY_PATTERN.test(key)
}

/** Files in an S3 store, read through a cache on the local disk. */
export function createS3Files({
  client,
  space,
  mayDelete = async () => true,
  now = Date.now,
  ...cached
}: S3FilesDeps): Files {
  const cache = createFileCache(cached.cacheFolder, cached.cacheBytes, now)
  space.onShortage(cache.shrink)
  const downloads = new Map<string, Promise<void>>()
  const limitRemovals = createTaskQueue({
    limit: MAX_REMOVALS,
    queueLimit: Number.POSITIVE_INFINITY,
    onFull: () => new Error('never full'),
  })
  const hidden = new Set<string>()
  const lastPut = createLastOutcome(OUTCOME_LIFETIMES, () => true)
  let heldUntil = 0
  const restoredAt = async () => (await client.head(RESTORED))?.lastModified ?? null
  return {
    keep,
    open,
    remove,
    holdRemovals,
    list,
    sweepCopies: cache.sweep,
    probe,
    recordRestore,
    restoredAt,
  }

  async function keep(temporaryPath: string, key: string) {
    // Claims an empty store, and registers this server as a guest of another owner's store.
    await mayDelete()
    await lastPut.observe(client.put(key, Bun.file(temporaryPath)))
    await syncPath(temporaryPath)
    cache.add(temporaryPath, key)
    // A variant that was removed during a backup may be made again.
    hidden.delete(key)
  }

  /** Parallel requests for a key share one download. */
  async function open(key: string) {
    if (hidden.has(key)) return null
    const found = cache.find(key)
    if (found) return found
    const download = downloads.get(key) ?? fetchFile(key).finally(() => downloads.delete(key))
    downloads.set(key, download)
    await download
    return cache.find(key)
  }

  async function fetchFile(key: string) {
    const path = cache.newPath()
    try {
      if ((await client.get(key, path, space.reserve)) !== null) cache.add(path, key)
    } finally {
      await rm(path, { force: true })
    }
  }

  async function remove(key: string) {
    if (now() < heldUntil) hidden.add(key)
    else await removeNow(key)
  }

  /** Waits for a running download, which would put the file back into the cache. */
  async function removeNow(key: string) {
    try {
      await limitRemovals(async () => (await mayDelete()) && client.remove(key))
    } finally {
      await downloads.get(key)?.catch(() => {})
      cache.drop(key)
      hidden.delete(key)
    }
  }

  /** If the process dies, hidden files are deleted later as orphans. */
  async function holdRemovals(ms: number) {
    heldUntil = now() + ms
    if (ms === 0) await removeHidden()
    else setTimeout(removeHidden, ms).unref()
  }

  /** If the store fails, the remaining files are deleted later as orphans. */
  async function removeHidden() {
    if (now() < heldUntil) return
    try {
      for (const key of hidden) await removeNow(key)
    } catch {}
  }

  async function* list() {
    for await (const { key, lastModified } of client.list()) {
      if (isFileKey(key)) yield { key, storedAt: lastModified }
    }
  }

  async function recordRestore() {
    await client.put(RESTORED, new Blob([new Date(now()).toISOString()]))
  }

  async function probe() {
    await client.head('probe')
    await lastPut.check(client.probe)
  }
}

/** A cache of files on disk that evicts the least recently used beyond `maxBytes`. It survives restarts. */
function createFileCache(folder: string, maxBytes: number, now: () => number) {
  /** From the least to the most recently used. */
  const entries = new Map<string, { size: number; usedAt: number }>()
  let bytes = 0
  let eviction: Timer | undefined
  load()
  return { newPath, add, find, drop, sweep, shrink }

  function newPath(): string {
    makeFolder()
    return join(folder, newKey() + PARTIAL_SUFFIX)
  }

  function add(path: string, key: string) {
    makeFolder()
    renameSync(path, join(folder, key))
    find(key)
    evict()
  }

  /** Checks the file system each time, because other processes may have removed the file. */
  function find(key: string) {
    const path = join(folder, key)
    const found = lstatSync(path, { throwIfNoEntry: false })
    untrack(key)
    if (!found?.isFile()) return null
    track(key, found.size, now())
    return { file: Bun.file(path), size: found.size }
  }

  function drop(key: string) {
    untrack(key)
    rmSync(join(folder, key), { force: true })
  }

  /** Checks a few keys at a time. Files in use stay until the next sweep. */
  async function sweep(filterStored: (keys: string[]) => Promise<Set<string>>) {
    const keys = readdirSync(folder).filter((name) => KEY_PATTERN.test(name))
    for (const batch of chunk(keys, SWEEP_BATCH_SIZE)) {
      const stored = await filterStored(batch)
      for (const key of batch) if (!stored.has(key) && !isInUse(key)) drop(key)
    }
  }

  function isInUse(key: string): boolean {
    const entry = entries.get(key)
    // A time in the future comes from a clock that was ahead: the file is not in use.
    return entry !== undefined && Math.abs(now() - entry.usedAt) < IN_USE_MS
  }

  function track(key: string, size: number, usedAt: number) {
    entries.set(key, { size, usedAt })
    bytes += size
  }

  function untrack(key: string) {
    bytes -= entries.get(key)?.size ?? 0
    entries.delete(key)
  }

  /** Files in use stay, even beyond the limit, and are checked again later. */
  function evict() {
    clearTimeout(eviction)
    shrink(bytes - maxBytes)
    if (bytes > maxBytes) eviction = setTimeout(evict, IN_USE_MS).unref()
  }

  /** Drops the least recently used files until `size` bytes are free, but keeps files in use. */
  function shrink(size: number) {
    const limit = bytes - size
    for (const key of entries.keys()) {
      if (bytes <= limit || isInUse(key)) break
      drop(key)
    }
  }

  /** An operator may have removed the folder to free space. */
  function makeFolder() {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /** Recent partial files may belong to a process that is still serving. */
  function load() {
    makeFolder()
    const found = readdirSync(folder)
      .flatMap((name) => {
        const stats = lstatSync(join(folder, name), { throwIfNoEntry: false })
        return stats ? [{ name, stats }] : []
      })
      .toSorted((a, b) => a.stats.mtimeMs - b.stats.mtimeMs)
    for (const { name, stats } of found) {
      if (KEY_PATTERN.test(name)) track(name, stats.size, stats.mtimeMs)
      else if (name.endsWith(PARTIAL_SUFFIX) && now() - stats.mtimeMs > HOUR_MS) drop(name)
    }
    evict()
  }
}
