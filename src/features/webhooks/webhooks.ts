import { AppError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log/log.ts'
import type { Tx } from '../../platform/db/db.ts'
import { createDeliveries } from './deliveries.ts'
import { createEmitter } from './emit.ts'
import { createEndpoints } from './endpoints.ts'
import { createWebhookHealth } from './health.ts'
import { createRetention } from './retention.ts'
import type { WebhooksDb } from './schema.ts'
import { createAttempt } from './sending/attempt.ts'
import { type AttemptFigures, createDeliverer } from './sending/deliver.ts'
import { createQueue, type Failure } from './sending/queue.ts'
import { createTargets, type Resolve, resolveHost } from './sending/target.ts'

export type WebhooksDeps = {
  db: WebhooksDb
  sealKey: Uint8Array
  /** Allows private addresses and plain http. */
  allowsPrivate: boolean
  /** Tells operators about an endpoint that was disabled, as part of the change. */
  notifyDisabled: (tx: Tx, host: string, reason: Failure) => Promise<void>
  observeAttempt: (endpointId: string, figures: AttemptFigures) => void
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

/** Outgoing webhooks: endpoints, and the durable delivery of events to them. */
export function createWebhooks(deps: WebhooksDeps) {
  const { db, now, newId, allowsPrivate, notifyDisabled } = deps
  const { resolve = resolveHost, random = Math.random } = deps
  const targets = createTargets({ resolve, allowsPrivate })
  const queue = createQueue({
    ...deps,
    random,
    onDisabled: (tx, url, reason) => notifyDisabled(tx, new URL(url).host, reason),
  })
  const dispatcher = createDeliverer({
    ...deps,
    queue,
    attempt: createAttempt({ ...deps, targets }),
  })
  const deliverSoon = dispatcher.flushSoon
  const { emit, addMessage } = createEmitter({ db, now, newId, deliverSoon })
  const endpoints = createEndpoints({ ...deps, targets, deliverSoon, leaseEnd: queue.leaseEnd })
  const endpointsInTest = new Set<string>()
  const deliveries = createDeliveries({ db, now, deliverSoon })
  return {
    emit,
    endpoints,
    deliveries,
    test,
    retention: createRetention({ db, now }),
    health: createWebhookHealth({ db, counts: dispatcher.counts, now }),
    wake: dispatcher.wake,
    retryAll: queue.retryAll,
    flush: dispatcher.flush,
    stop: dispatcher.stop,
  }

  /**
   * Sends a test message at once, also to a disabled endpoint. A failed one is retried like any other. Throws
   * `rate_limited` during another test of the endpoint: tests must not occupy all outgoing requests.
   */
  async function test(id: string) {
    if (endpointsInTest.has(id)) throw testUnderWay()
    endpointsInTest.add(id)
    try {
      return await sendTest(id)
    } finally {
      endpointsInTest.delete(id)
    }
  }

  async function sendTest(id: string) {
    const claimed = await db.write(async (tx) => {
      await endpoints.findOrThrow(tx, id)
      const leasedUntil = queue.leaseEnd()
      const event = { type: 'test', userId: null, data: { text: 'This is a test.' } } as const
      const [delivery = ''] = await addMessage(tx, event, [id], leasedUntil)
      return queue.claimNew(tx, delivery, leasedUntil)
    })
    const result = await dispatcher.deliver(claimed)
    if (result === null)
      throw new AppError('unavailable', 'The result of the test could not be stored. Try again.')
    const { duration, status, fault, reply } = result
    return { delivery: claimed.id, duration, status, fault, reply }
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
