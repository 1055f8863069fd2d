import { readFileSync, statSync } from 'node:fs'
import type { Subprocess } from 'bun'
import { EXIT } from '../../../lib/command.ts'
import { tryTo } from '../../../lib/errors.ts'
import type { ImageJob, ImageResult } from './image.ts'

/** Messages between the processes: file paths and numbers, never file contents. */
export type ToWorker = { job: ImageJob }
export type FromWorker = { result: ImageResult }

export type ImageWorker = ReturnType<typeof startImageWorker>

/** The worker exited during a job; `canRetry` unless it could not load the native library. */
type Crash = { kind: 'crashed'; canRetry: boolean }

/** `time` in ms; `output`, the size of the result, and `memory`, the worker's, in bytes. */
export type JobLimits = { time: number; output: number; memory: number }

const POLL_INTERVAL_MS = 100

/** The worker makes one image at a time, and is killed if it hangs or leaks. */
export function startImageWorker(command: string[], limits: JobLimits) {
  let current: PromiseWithResolvers<ImageResult | Crash> | null = null
  let jobs = 0
  let peak = 0
  // The exit event arrives late, so this flag keeps a stopping worker from getting more jobs.
  let isEnding = false
  const process: Subprocess<'ignore', 'inherit', 'inherit'> = Bun.spawn(command, {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {},
    serialization: 'json',
    ipc: ({ result }: FromWorker) => current?.resolve(result),
    onExit: (_, exitCode) =>
      current?.resolve({ kind: 'crashed', canRetry: exitCode !== EXIT.failed }),
  })
  return { make, usage, isAlive, stop }

  /** Makes an image. The process is killed if it exceeds a limit. */
  async function make(job: ImageJob): Promise<ImageResult | Crash> {
    const outcome = Promise.withResolvers<ImageResult | Crash>()
    const abort = (result: ImageResult) => {
      outcome.resolve(result)
      isEnding = true
      process.kill('SIGKILL')
    }
    current = outcome
    jobs++
    const startedAt = performance.now()
    const poll = setInterval(() => {
      peak = Math.max(peak, readMemory(process.pid))
      if (performance.now() - startedAt > limits.time) abort({ kind: 'too_slow' })
      else if (readSize(job.output) > limits.output) abort({ kind: 'result_too_large' })
      else if (peak > limits.memory) abort({ kind: 'too_large' })
    }, POLL_INTERVAL_MS)
    try {
      process.send({ job } satisfies ToWorker)
      const result = await outcome.promise
      peak = Math.max(peak, readMemory(process.pid))
      // The file may have exceeded the limit between two polls.
      const isTooLarge = result.kind === 'made' && result.size > limits.output
      return isTooLarge ? { kind: 'result_too_large' } : result
    } catch {
      return { kind: 'crashed', canRetry: process.exitCode !== EXIT.failed }
    } finally {
      clearInterval(poll)
      current = null
    }
  }

  /** The number of jobs, and the peak memory in bytes. */
  function usage() {
    return { jobs, peak }
  }

  function isAlive(): boolean {
    return !isEnding && !process.killed && process.exitCode === null && process.signalCode === null
  }

  async function stop() {
    isEnding = true
    process.kill()
    await process.exited
  }
}

/** In bytes; 0 if unknown. */
function readMemory(pid: number): number {
  const status = tryTo(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? ''
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024
}

function readSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
