import { statSync } from 'node:fs'
import type { Subprocess } from 'bun'

/** The log is looked at after so many commits; from so many bytes on somebody copies it. */
const LOOK_EVERY = 32
const LOG_BYTES = 8 * 1024 * 1024

/**
 * Has the log (`-wal`) of a busy database copied into its file by a process of its own, for the copying and its
 * fsync would hold up every request. The process ends by itself when the log is short, and with us;
 * without it SQLite copies the log at a commit, once it is long.
 */
export function createCheckpoints({ path, command }: { path: string; command: string[] }) {
  let commits = 0
  let worker: Subprocess | null = null
  return { noteCommit, emptyLog, stop }

  /** To be called after each commit. */
  function noteCommit() {
    commits++
    if (worker === null && commits % LOOK_EVERY === 0 && logSize() >= LOG_BYTES) start()
  }

  /** The process does it first of all; one that runs already may have done it hours ago. */
  async function emptyLog() {
    if (logSize() === 0) return
    await stop()
    if (worker === null) start()
  }

  function start() {
    const started = Bun.spawn([...command, path], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: {},
      onExit: () => {
        if (worker === started) worker = null
      },
    })
    started.unref()
    worker = started
  }

  async function stop() {
    worker?.kill('SIGKILL')
    await worker?.exited
  }

  function logSize(): number {
    return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }
}
