import type { DestinationStream } from 'pino'

export type LiveLines = ReturnType<typeof createLiveLines>

const KEPT = 500

/** The last lines of the log in memory, and whoever reads along. */
export function createLiveLines() {
  const ring: string[] = []
  const readers = new Map<(line: string) => void, () => void>()
  let next = 0
  return { behind, last, follow, close }

  /** A stream that keeps what is written and passes it on. */
  function behind(stream: DestinationStream): DestinationStream {
    return {
      write(line) {
        ring[next] = line
        next = (next + 1) % KEPT
        for (const read of readers.keys()) read(line)
        stream.write(line)
      },
    }
  }

  /** The lines that are kept, the oldest first. */
  function last(): string[] {
    return ring.length < KEPT ? [...ring] : [...ring.slice(next), ...ring.slice(0, next)]
  }

  /** Calls `read` with every line to come, until the answered function is called, and `closed` when there are no more. */
  function follow(read: (line: string) => void, closed: () => void): () => void {
    readers.set(read, closed)
    return () => readers.delete(read)
  }

  /** Lets all readers go, so that nobody waits for them. */
  function close() {
    for (const closed of readers.values()) closed()
  }
}
