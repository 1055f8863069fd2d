import type { DestinationStream } from 'pino'

export type LiveLines = ReturnType<typeof createLiveLines>

const KEPT = 500

/** The last lines of the log in memory, and whoever reads along. */
export function createLiveLines() {
  const ring: string[] = []
  const readers = new Set<(line: string) => void>()
  let next = 0
  return { behind, last, follow }

  /** A stream that keeps what is written and passes it on. */
  function behind(stream: DestinationStream): DestinationStream {
    return {
      write(line) {
        ring[next] = line
        next = (next + 1) % KEPT
        for (const read of readers) read(line)
        stream.write(line)
      },
    }
  }

  /** The lines that are kept, the oldest first. */
  function last(): string[] {
    return ring.length < KEPT ? [...ring] : [...ring.slice(next), ...ring.slice(0, next)]
  }

  /** Calls `read` with every line to come, until the answered function is called. */
  function follow(read: (line: string) => void): () => void {
    readers.add(read)
    return () => readers.delete(read)
  }
}
