import { AppError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log/log.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { Registry } from '../../platform/metrics/registry.ts'
import { createDeliveries } from './deliveries.ts'
import { createEmitter } from './emit.ts'
import { createEndpoints } from './endpoints.ts'
import { createWebhookHealth } from './health.ts'
import { createRetention } from './retention.ts'
import type { WebhooksDb } from './schema.ts'
import { createAttempt } from './sending/attempt.ts'
import { createDeliveryQueue } from './sending/queue.ts'
import { createResults, type Failure } from './sending/results.ts'
import { createTargets, type Resolve, resolveHost } from './sending/target.ts'

export type WebhooksDeps = {
  db: WebhooksDb
  sealKey: Uint8Array
  allowsPrivate: boolean
  /** Called in the transaction that disables the endpoint. */
  notifyDisabled: (tx: Tx, host: string, reason: Failure) => Promise<void>
  registry: Pick<Registry, 'observe'>
  now: () => Date
  newId: () => string
  log: Log
  /** Set only by tests. */
  resolve?: Resolve | undefined
  timeoutMs?: number | undefined
  ca?: string | undefined
  random?: (() => number) | undefined
}

export type Webhooks = ReturnType<typeof createWebhooks>

export function createWebhooks(deps: WebhooksDeps) {
  const { db, now, newId, allowsPrivate, notifyDisabled, log } = deps
  const { resolve = resolveHost, random = Math.random } = deps
  const targets = createTargets({ resolve, allowsPrivate })
  const results = createResults({
    ...deps,
    random,
    onDisabled: (tx, url, reason) => notifyDisabled(tx, new URL(url).host, reason),
  })
  const attempt = createAttempt({ ...deps, targets })
  const queue = createDeliveryQueue({ ...deps, results, attempt })
  const { emit, addMessage } = createEmitter({ db, now, newId, queue })
  const endpoints = createEndpoints({ ...deps, targets, queue })
  const endpointsBeingTested = new Set<string>()
  const { wake, flush, repair, stop, counts } = queue
  return {
    emit,
    endpoints,
    deliveries: createDeliveries({ db, now, queue }),
    test,
    retention: createRetention({ db, now }),
    health: createWebhookHealth({ db, counts, now }),
    wake,
    flush,
    repair,
    stop,
  }

  /**
   * Sends a test event, even to a disabled endpoint; it is retried like any other. Throws `rate_limited` during another
   * test of the endpoint: tests must not occupy all outgoing requests.
   */
  async function test(id: string) {
    if (endpointsBeingTested.has(id)) throw testUnderWay()
    endpointsBeingTested.add(id)
    try {
      return await sendTest(id)
    } finally {
      endpointsBeingTested.delete(id)
    }
  }

  async function sendTest(id: string) {
    const leased = await db.write(async (tx) => {
      await endpoints.findOrThrow(tx, id)
      const event = { type: 'test', userId: null, data: { text: 'This is a test.' } } as const
      return queue.lease(tx, await addMessage(tx, event, [id]))
    })
    const [delivery] = leased as [(typeof leased)[0]]
    const { duration, status, fault, reply } = await queue.attemptNow(delivery).catch((err) => {
      log.error({ delivery: delivery.id, err }, 'a webhook attempt could not be recorded')
      throw new AppError('unavailable', 'The result of the test could not be stored. Try again.')
    })
    return { delivery: delivery.id, duration, status, fault, reply }
  }
}

function testUnderWay(): AppError {
  return new AppError(
    'rate_limited',
    'A test of this endpoint is under way. Wait for its result.',
    {
      retryAfterSeconds: 1,
    },
  )
}
