import { createTaskQueue } from '../../../../src/lib/concurrency/slots.ts'
import { startReceiver } from '../../../support/receiver.ts'
import { simulateDelay } from '../../../support/until.ts'

/**
 * A receiver with some workers, which finishes a request even when its sender has given up. `processed` counts how often
 * each message was processed. While it is down, it answers 503.
 */
export function startWorkers(workers: number, millisecondsOf: () => number) {
  const work = createTaskQueue({ limit: workers, queueLimit: 10_000, onFull: () => new Error() })
  const processed = new Map<string, number>()
  const state = { isDown: false }
  const receiver = startReceiver(async ({ headers }) => {
    if (state.isDown) return new Response(null, { status: 503 })
    const id = headers['webhook-id'] ?? ''
    await work(() => simulateDelay(millisecondsOf()))
    processed.set(id, (processed.get(id) ?? 0) + 1)
    return new Response()
  })
  return Object.assign(state, {
    url: receiver.url,
    processed,
    [Symbol.dispose]: () => receiver[Symbol.dispose](),
  })
}
