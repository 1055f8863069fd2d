/**
 * Makes `work` run once at a time. Who asks while it runs gets a promise of a whole run that begins after
 * the asking, shared by all who ask meanwhile: nothing that came up in between is missed.
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
