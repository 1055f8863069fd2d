import type { TestApp } from './app.ts'
import type { createGate } from './gate.ts'

type TestedQueue = {
  wake: () => void
  flush: () => Promise<void>
  repair: () => Promise<void>
  stop: (graceMs: number) => Promise<void>
}

/** A queue on two instances that share a database, and the peer that its attempts reach. */
export type QueueWorld = {
  app: Pick<TestApp, 'clock' | 'expectErrors'>
  here: TestedQueue
  there: TestedQueue
  /** Attempts wait while the gate is closed. */
  gate: ReturnType<typeof createGate>
  /** Adds a due item for each key, in one change, and returns the names of the items. */
  add: (keys: string[]) => Promise<string[]>
  /** The names of the items that were attempted, in order. */
  attempts: () => string[]
  /** Makes the next attempt fail. */
  failNext: () => void
  /** Changes an item, as an operator or a notification does. */
  change: (name: string) => Promise<unknown>
  [Symbol.asyncDispose]: () => Promise<void>
}

/** A feature's use of a queue, declared in `queue.consumers.ts` beside the feature's tests. */
export type Consumer = {
  name: string
  open: () => Promise<QueueWorld>
  leaseMs: number
  slots: number
  /** Whether items with one key leave slots free for items with another. */
  hasKeys: boolean
}

export async function loadConsumers(): Promise<Consumer[]> {
  const found = new Bun.Glob('../features/*/queue.consumers.ts').scanSync(import.meta.dir)
  const modules = await Promise.all([...found].toSorted().map((path) => import(`./${path}`)))
  return modules.flatMap(({ consumers }) => consumers)
}
