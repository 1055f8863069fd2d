import { statSync } from 'node:fs'
import type { Subprocess } from 'bun'

/** How often the size of the WAL is checked, in commits. */
const CHECK_INTERVAL_COMMITS = 32
/** The WAL is checkpointed once it reaches this size. */
const MIN_WAL_BYTES = 8 * 1024 * 1024
/** Background work pauses while the WAL is larger than this: twice the size that the worker aims for. */
const MAX_BATCH_WAL_BYTES = 192 * 1024 * 1024
const PAUSE_MS = 200

/** The exit code of a process that could not sync the database. */
export const SYNC_FAILED = 74

type CheckpointsDeps = {
  path: string
  command: string[]
  /** Called when pages of the database may be lost unless the WAL is checkpointed again from its start. */
  onSyncFailure: () => void
}

/**
 * Checkpoints the WAL in a separate process, which exits when the WAL is short: copying pages and the fsync would block
 * requests. Without it, SQLite checkpoints a long WAL during a commit.
 */
export function createCheckpoints({ path, command, onSyncFailure }: CheckpointsDeps) {
  let commits = 0
  let worker: Subprocess | null = null
  let hasFailed = false
  return { afterCommit, pauseBatches, emptyLog, stop }

  function afterCommit() {
    commits++
    if (worker !== null || commits % CHECK_INTERVAL_COMMITS !== 0 || walSize() < MIN_WAL_BYTES)
      return
    try {
      start()
    } catch {
      // The change is committed anyway, and a later commit tries again.
    }
  }

  /** Waits while the WAL is long, because copying random pages may take longer than writing them to the WAL. */
  async function pauseBatches() {
    await Bun.sleep(1)
    while (worker !== null && walSize() > MAX_BATCH_WAL_BYTES) await Bun.sleep(PAUSE_MS)
  }

  /** A new process empties the WAL first; a running one may have done so hours ago. */
  async function emptyLog() {
    if (walSize() === 0) return
    await stop()
    if (worker === null) start()
  }

  function start() {
    // Another process would continue after the pages that this one failed to sync.
    if (hasFailed) return
    const started = Bun.spawn([...command, path], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: {},
      onExit: (_process, exitCode) => {
        if (worker === started) worker = null
        hasFailed ||= exitCode === SYNC_FAILED
        if (exitCode === SYNC_FAILED) onSyncFailure()
      },
    })
    started.unref()
    worker = started
  }

  async function stop() {
    worker?.kill('SIGKILL')
    await worker?.exited
  }

  function walSize(): number {
    return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }
}
