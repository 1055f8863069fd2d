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

type Worker = {
  process: Subprocess<'ignore', 'inherit', 'inherit'>
  waiting: Map<number, PromiseWithResolvers<ImageResult>>
  started: number
  /** It gets no more jobs and ends with its last one. */
  retired: boolean
}

/**
 * Makes pictures in a process of its own, which may crash, hang or leak. It is started by the first
 * job and again after a crash, and stopped when idle.
 */
export function createImageWorker({ command, concurrency, log }: ImageWorkerDeps) {
  const inTurn = createSemaphore({ limit: concurrency, queueLimit: QUEUE_LIMIT, onFull: busy })
  const workers = new Set<Worker>()
  let current: Worker | null = null
  let idle: Timer | undefined
  let lastId = 0
  let failing = false
  return { make, isFailing, stop }

  /** Throws `unavailable` when the queue is full, or when the worker died or hung over this job. */
  function make(job: ImageJob): Promise<ImageResult> {
    return inTurn(async () => {
      clearTimeout(idle)
      const worker = hire()
      const id = ++lastId
      const done = Promise.withResolvers<ImageResult>()
      worker.waiting.set(id, done)
      const timeout = setTimeout(() => worker.process.kill('SIGKILL'), JOB_TIMEOUT)
      try {
        worker.process.send({ id, job } satisfies ToWorker)
        const result = await done.promise
        failing = false
        return result
      } finally {
        clearTimeout(timeout)
        worker.waiting.delete(id)
        rest(worker)
      }
    })
  }

  /** Whether the last picture was lost with its worker. */
  function isFailing(): boolean {
    return failing
  }

  async function stop() {
    clearTimeout(idle)
    const ending = [...workers]
    for (const worker of ending) dismiss(worker)
    await Promise.all(ending.map(({ process }) => process.exited))
  }

  /** The worker for one more job. */
  function hire(): Worker {
    current ??= start()
    const worker = current
    if (++worker.started >= JOBS_PER_WORKER) {
      worker.retired = true
      current = null
    }
    return worker
  }

  function start(): Worker {
    const waiting: Worker['waiting'] = new Map()
    const process = Bun.spawn(command, {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {},
      serialization: 'json',
      ipc: ({ id, result }: FromWorker) => waiting.get(id)?.resolve(result),
      onExit: (_process, exitCode, signal) => ended(worker, exitCode, signal),
    })
    const worker: Worker = { process, waiting, started: 0, retired: false }
    workers.add(worker)
    return worker
  }

  function ended(worker: Worker, exitCode: number | null, signal: unknown) {
    workers.delete(worker)
    if (current === worker) current = null
    if (worker.waiting.size === 0) return
    failing = true
    log.warn({ exitCode, signal, lost: worker.waiting.size }, 'the image worker ended in mid-work')
    for (const { reject } of worker.waiting.values()) reject(busy())
  }

  /** Nothing to do: a retired worker goes, the current one is kept for a while. */
  function rest(worker: Worker) {
    if (worker.waiting.size > 0) return
    if (worker.retired) dismiss(worker)
    else idle = setTimeout(() => dismiss(worker), IDLE_TIMEOUT).unref()
  }

  function dismiss(worker: Worker) {
    if (current === worker) current = null
    worker.process.kill()
  }
}

function busy(): AppError {
  return new AppError('unavailable', 'The picture could not be made just now. Send it again.', {
    retryAfterSeconds: 5,
  })
}
