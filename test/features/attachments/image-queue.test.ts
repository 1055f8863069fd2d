import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ImageFormat } from '../../../src/features/attachments/images/containers.ts'
import { createImageQueue } from '../../../src/features/attachments/images/image-queue.ts'
import { startImageWorker } from '../../../src/features/attachments/images/image-worker-process.ts'
import { createDiskSpace } from '../../../src/features/attachments/storage/disk-space.ts'
import { createLog } from '../../../src/lib/log/log.ts'
import { oneBitPng } from '../../support/pictures.ts'
import { until } from '../../support/until.ts'

/** Finishes JPEGs immediately, never finishes PNGs, and exits on its second image. */
const WORKER = `
let jobs = 0
process.on('message', ({ job }) => {
  if (++jobs === 2) process.exit(1)
  if (job.format === 'jpeg') process.send({ result: { kind: 'made', size: 1, width: 1, height: 1 } })
})`
const COMMAND = [process.execPath, '-e', WORKER]

test('processes an upload while others request more variants than the queue can make', async () => {
  await using queue = await makeQueue()
  const variants = Array.from({ length: 40 }, (_, at) => queue.make('png', `203.0.113.${at % 5}`))
  const settled = Promise.allSettled(variants)
  await until(() => queue.countUnfinished() === variants.length, 'not every variant is waiting')
  expect(await queue.make('jpeg', '198.51.100.1', 'ann')).toMatchObject({ kind: 'made' })
  await queue.stop()
  await settled
})

test('a user can have no more images waiting than one upload may contain', async () => {
  await using queue = await makeQueue()
  let isStopped = false
  const refused: unknown[] = []
  // One is being made, the others wait.
  for (let at = 0; at < 1 + 32; at++) {
    const image = queue.make('png', '198.51.100.1', 'ann')
    image.catch((error) => isStopped || refused.push(error))
  }
  await until(() => queue.countUnfinished() === 1 + 32, 'not every image is waiting')
  isStopped = true
  expect(refused).toEqual([])
})

test('a new worker processes an image whose worker has exited', async () => {
  await using queue = await makeQueue()
  for (let at = 0; at < 4; at++) {
    expect(await queue.make('jpeg', '198.51.100.1', 'ann')).toMatchObject({ kind: 'made' })
  }
  expect(queue.isFailing()).toBe(false)
})

test('a worker that exceeds the time limit is stopped', async () => {
  const limits = { time: 200, output: 1e9, memory: 1e9 }
  const worker = startImageWorker(COMMAND, limits)
  const job = { input: '/none', output: '/none', format: 'png', quality: 80, width: 64 } as const
  expect(await worker.make(job)).toEqual({ kind: 'too_slow' })
  expect(worker.isAlive()).toBe(false)
  await worker.stop()
})

test('distinguishes an image over the size limit from one that is too large to process', async () => {
  const worker = startImageWorker(COMMAND, { time: 5_000, output: 0, memory: 1e9 })
  const job = { input: '/none', output: '/none', format: 'jpeg', quality: 80, width: 64 } as const
  expect(await worker.make(job)).toEqual({ kind: 'result_too_large' })
  await worker.stop()
})

async function makeQueue() {
  const folder = mkdtempSync(join(tmpdir(), 'homeport-queue-'))
  const input = join(folder, 'image.png')
  await Bun.write(input, oneBitPng(64, 64))
  const space = createDiskSpace(folder, 0)
  const log = createLog('error', { write: () => {} })
  const queue = createImageQueue({ command: COMMAND, space, cores: 1, log })
  return { ...queue, make, [Symbol.asyncDispose]: dispose }

  function make(format: ImageFormat, ip: string, userId: string | null = null) {
    const job = { input, output: join(folder, 'made'), format, quality: 80, width: 64 }
    return queue.make(job, { ip, userId })
  }

  async function dispose() {
    await queue.stop()
    rmSync(folder, { recursive: true })
  }
}
