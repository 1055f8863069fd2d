import type { DestinationStream } from 'pino'

export type LiveLines = ReturnType<typeof createLiveLines>

const KEPT = 500

/** Keeps the last log lines in memory and passes new ones to followers. */
export function createLiveLines() {
  const ring: string[] = []
  const readers = new Map<(line: string) => void, () => void>()
  let next = 0
  return { tee, last, follow, close }

  /** A stream that keeps each line before it writes it to `stream`. */
  function tee(stream: DestinationStream): DestinationStream {
    return {
      write(line) {
        ring[next] = line
        next = (next + 1) % KEPT
        for (const read of readers.keys()) read(line)
        stream.write(line)
      },
    }
  }

  /** The kept lines, the oldest first. */
  function last(): string[] {
    return ring.length < KEPT ? [...ring] : [...ring.slice(next), ...ring.slice(0, next)]
  }

  /** Calls `read` with each new line until the returned function is called, and `closed` when the log ends. */
  function follow(read: (line: string) => void, closed: () => void): () => void {
    readers.set(read, closed)
    return () => readers.delete(read)
  }

  /** Closes all followers, so that a stopping server does not wait for them. */
  function close() {
    for (const closed of readers.values()) closed()
  }
}
