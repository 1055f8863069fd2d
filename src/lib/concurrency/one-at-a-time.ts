/** Runs `work` one run at a time. Calls during a run share one more run after it, so that they miss no changes. */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  let mustRunAgain = false
  return () => {
    if (running) mustRunAgain = true
    else running = run()
    return running
  }

  async function run() {
    try {
      do {
        mustRunAgain = false
        await work()
      } while (mustRunAgain)
    } finally {
      running = null
    }
  }
}
