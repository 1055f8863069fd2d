import type { Subprocess } from 'bun'
import { AppError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import type { ImageJob, ImageResult } from './image.ts'

export type ImageWorkerDeps = {
  /** The command line of the worker process. */
  command: string[]
  /** How many pictures are made side by side. */
  concurrency: number
  log: Log
}

export type ImageWorker = ReturnType<typeof createImageWorker>

/** Messages between the two processes: file paths and figures, never bytes of files. */
export type ToWorker = { id: number; job: ImageJob }
export type FromWorker = { id: number; result: ImageResult }

const QUEUE_LIMIT = 32
/** Limits in ms: a job from its start, a worker without work. */
const JOB_TIMEOUT = 35_000
const IDLE_TIMEOUT = 60_000
/** A worker is replaced after this many jobs, before what it may leak adds up. */
const JOBS_PER_WORKER = 500

/**
 * Makes pictures in a process of its own, which may crash, hang or leak. It is started by the first
 * job and again after a crash, and stopped when idle.
 */
export function createImageWorker({ command, concurrency, log }: ImageWorkerDeps) {
  const inTurn = createSemaphore(concurrency, QUEUE_LIMIT, busy)
  const waiting = new Map<number, PromiseWithResolvers<ImageResult>>()
  let worker: Subprocess<'ignore', 'inherit', 'inherit'> | null = null
  let idle: Timer | undefined
  let started = 0
  let lastId = 0
  return { make, stop }

  /** Throws `unavailable` when the queue is full, or when the worker died or hung over this job. */
  function make(job: ImageJob): Promise<ImageResult> {
    return inTurn(async () => {
      clearTimeout(idle)
      const process = current()
      const id = ++lastId
      const done = Promise.withResolvers<ImageResult>()
      waiting.set(id, done)
      started++
      const timeout = setTimeout(() => process.kill('SIGKILL'), JOB_TIMEOUT)
      try {
        process.send({ id, job } satisfies ToWorker)
        return await done.promise
      } finally {
        clearTimeout(timeout)
        waiting.delete(id)
        if (waiting.size === 0) rest()
      }
    })
  }

  async function stop() {
    clearTimeout(idle)
    const last = worker
    worker = null
    last?.kill()
    await last?.exited
  }

  function current() {
    if (worker !== null) return worker
    started = 0
    const spawned = Bun.spawn(command, {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {},
      serialization: 'json',
      ipc: ({ id, result }: FromWorker) => waiting.get(id)?.resolve(result),
      onExit(process, exitCode, signal) {
        if (process !== worker && worker !== null) return
        const expected = worker === null
        worker = null
        if (!expected) log.warn({ exitCode, signal }, 'the image worker ended')
        for (const { reject } of waiting.values()) reject(busy())
      },
    })
    worker = spawned
    return spawned
  }

  /** Nothing to do: the worker is kept for a while, unless it is old. */
  function rest() {
    if (started >= JOBS_PER_WORKER) void stop()
    else idle = setTimeout(() => void stop(), IDLE_TIMEOUT).unref()
  }
}

function busy(): AppError {
  return new AppError('unavailable', 'The picture could not be made just now. Send it again.', {
    retryAfterSeconds: 5,
  })
}
