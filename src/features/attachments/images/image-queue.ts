import { createFairSlots } from '../../../lib/concurrency/fair-slots.ts'
import { AppError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log/log.ts'
import type { DiskSpace } from '../storage/disk-space.ts'
import { MAX_FILE_BYTES } from '../storage/files.ts'
import { countPixels } from './count-pixels.ts'
import { hasPalette, type ImageJob, type ImageResult } from './image.ts'
import { type ImageWorker, type JobLimits, startImageWorker } from './image-worker-process.ts'

type ImageQueueDeps = {
  command: string[]
  space: DiskSpace
  cores: number
  log: Log
}

/** The client that an image is made for. `userId`: the uploader; null for a variant, which needs no sign-in. */
export type Requester = { ip: string; userId: string | null }

export type ImageQueue = ReturnType<typeof createImageQueue>
export type MakeImage = ImageQueue['make']

/** Ten seconds per image (`docs/internal/faults.md`, row 111). */
const JOB_LIMITS: JobLimits = { time: 10_000, output: MAX_FILE_BYTES, memory: 512 * 1024 * 1024 }
/** A worker is replaced after this many images or this much memory, in case it leaks. */
const JOBS_PER_WORKER = 500
const MEMORY_PER_WORKER = 256 * 1024 * 1024
const IDLE_TIMEOUT_MS = 60_000
/** The maximum number of waiting images, in total and per user or IP: as many as a user may upload at once. */
const QUEUE_LIMITS = { queueLimit: 128, queueShare: 32 }
const MAX_WAIT_MS = 60_000
/** The minimum cost, and the maximum size of a small image: larger images take over half a second. */
const MIN_PIXELS = 1_000_000
const SMALL_PIXELS = 8_000_000
/** The slowest expected rate; an image that takes longer is charged for its time. */
const PIXELS_PER_MS = 8_000
/** A PNG with a palette takes this many times as long as other images. */
const PALETTE_FACTOR = 4
/** All variants share the slots of one holder. */
const VARIANTS_HOLDER = ['variants']

/** Worker processes start on demand and end when idle. There is one more slot than cores, and no holder gets all. */
export function createImageQueue({ command, space, cores, log }: ImageQueueDeps) {
  const slots = { slots: cores + 1, share: cores }
  const rules = {
    ...slots,
    small: SMALL_PIXELS,
    costPerMs: PIXELS_PER_MS,
    ...QUEUE_LIMITS,
    onFull: busy,
  }
  const acquireSlot = createFairSlots(rules)
  const acquireVariantSlot = createFairSlots(rules)
  const workers = new Set<ImageWorker>()
  const idleWorkers: ImageWorker[] = []
  let idle: Timer | undefined
  let failing = false
  let unfinished = 0
  let isStopped = false
  return { make, isFailing, countUnfinished, stop }

  /** Throws `unavailable` if too many jobs are waiting or the worker crashed, or `insufficient_storage`. */
  async function make(job: ImageJob, requester: Requester): Promise<ImageResult> {
    unfinished++
    try {
      return await makeInSlot(job, requester)
    } finally {
      unfinished--
    }
  }

  async function makeInSlot(job: ImageJob, requester: Requester): Promise<ImageResult> {
    const cost = await estimateCost(job)
    using _slots = await acquireSlots(requester, cost, AbortSignal.timeout(MAX_WAIT_MS))
    using _room = await space.reserve(MAX_FILE_BYTES)
    if (isStopped) throw busy()
    clearTimeout(idle)
    const worker = acquireWorker()
    const wasUsed = worker.usage().jobs > 0
    let result = await makeWith(worker, job)
    // A used worker may have crashed because of earlier jobs: retry this one in a new worker.
    if (result.kind === 'crashed' && wasUsed && !isStopped) {
      result = await makeWith(startWorker(), job)
    }
    failing = result.kind === 'crashed'
    if (result.kind !== 'crashed') return result
    log.warn('an image worker crashed during a job')
    throw result.canRetry
      ? busy()
      : new AppError('unavailable', 'Images cannot be processed at the moment. Try again later.')
  }

  /** All variants together count as one uploader and share its slots, so signed-in users come first. */
  async function acquireSlots({ ip, userId }: Requester, cost: number, waitSignal: AbortSignal) {
    if (userId !== null) return acquireSlot([`ip ${ip}`, `user ${userId}`], cost, waitSignal)
    using acquired = new DisposableStack()
    acquired.use(await acquireVariantSlot([`ip ${ip}`], cost, waitSignal))
    acquired.use(await acquireSlot(VARIANTS_HOLDER, cost, waitSignal))
    return acquired.move()
  }

  async function makeWith(worker: ImageWorker, job: ImageJob) {
    const result = await worker.make(job)
    returnWorker(worker)
    return result
  }

  /** Whether the last job crashed its worker. */
  function isFailing(): boolean {
    return failing
  }

  function countUnfinished(): number {
    return unfinished
  }

  async function stop() {
    isStopped = true
    clearTimeout(idle)
    await Promise.all([...workers].map((worker) => worker.stop()))
  }

  function acquireWorker(): ImageWorker {
    for (let worker = idleWorkers.pop(); worker; worker = idleWorkers.pop()) {
      if (worker.isAlive()) return worker
      workers.delete(worker)
    }
    return startWorker()
  }

  function startWorker(): ImageWorker {
    const worker = startImageWorker(command, JOB_LIMITS)
    workers.add(worker)
    return worker
  }

  function returnWorker(worker: ImageWorker) {
    const { jobs, peak } = worker.usage()
    const isSpent = jobs >= JOBS_PER_WORKER || peak > MEMORY_PER_WORKER
    if (isSpent || !worker.isAlive()) {
      log.debug({ jobs, megabytes: Math.round(peak / 1e6) }, 'replacing an image worker')
      stopWorker(worker)
    } else idleWorkers.push(worker)
    clearTimeout(idle)
    idle = setTimeout(() => idleWorkers.splice(0).forEach(stopWorker), IDLE_TIMEOUT_MS).unref()
  }

  function stopWorker(worker: ImageWorker) {
    void worker.stop().then(() => workers.delete(worker))
  }
}

/** In pixels. */
async function estimateCost(job: ImageJob): Promise<number> {
  const pixels = Math.max(await countPixels(job.input), MIN_PIXELS)
  return hasPalette(job) ? pixels * PALETTE_FACTOR : pixels
}

function busy(): AppError {
  return new AppError('unavailable', 'The image could not be processed. Send it again.', {
    retryAfterSeconds: 5,
  })
}
