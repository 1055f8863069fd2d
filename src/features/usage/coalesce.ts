type Waiting<Item, Result> = {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

export type Settled<Result> = { value: Result } | { error: unknown }

/** Runs one batch per key at a time; items that arrive during a batch form the next. Returns one result per item, in order. */
export function coalesce<Item, Result>(
  run: (items: Item[]) => Promise<Settled<Result>[]>,
  maxItems: number,
) {
  const queues = new Map<string, Waiting<Item, Result>[]>()
  return (key: string, item: Item): Promise<Result> => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const queue = queues.get(key)
    const waiting = { item, resolve, reject }
    if (queue) queue.push(waiting)
    else {
      queues.set(key, [waiting])
      void drain(key)
    }
    return promise
  }

  async function drain(key: string) {
    const queue = queues.get(key) ?? []
    while (queue.length > 0) {
      const batch = queue.splice(0, maxItems)
      try {
        const results = await run(batch.map(({ item }) => item))
        for (const [at, { resolve, reject }] of batch.entries()) {
          const result = results[at] as Settled<Result>
          if ('value' in result) resolve(result.value)
          else reject(result.error)
        }
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    queues.delete(key)
  }
}
