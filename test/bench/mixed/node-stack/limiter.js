/** Limits how many tasks run at once; the others wait. */
export function createLimiter(limit) {
  let running = 0
  const waiting = []
  return async (work) => {
    if (running >= limit) await new Promise((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
