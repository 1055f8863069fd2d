/**
 * Runs `work` one run at a time. Calls during a run share one more full run after it, so that nothing that came up
 * in between is missed.
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  let isAskedAgain = false
  return () => {
    if (running) isAskedAgain = true
    else running = run()
    return running
  }

  async function run() {
    try {
      do {
        isAskedAgain = false
        await work()
      } while (isAskedAgain)
    } finally {
      running = null
    }
  }
}
