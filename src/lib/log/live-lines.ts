import type { DestinationStream } from 'pino'

export type LiveLines = ReturnType<typeof createLiveLines>

const MAX_LINES = 500

export function createLiveLines() {
  const ring: string[] = []
  const readers = new Map<(line: string) => void, () => void>()
  let next = 0
  return { tee, last, follow, close }

  /** Keeps each line before it writes it to `stream`. */
  function tee(stream: DestinationStream): DestinationStream {
    return {
      write(line) {
        ring[next] = line
        next = (next + 1) % MAX_LINES
        for (const read of readers.keys()) read(line)
        stream.write(line)
      },
    }
  }

  function last(): string[] {
    return ring.length < MAX_LINES ? [...ring] : [...ring.slice(next), ...ring.slice(0, next)]
  }

  /** Calls `read` with each new line until the returned function is called, and `onClose` when the log ends. */
  function follow(read: (line: string) => void, onClose: () => void): () => void {
    readers.set(read, onClose)
    return () => readers.delete(read)
  }

  /** Ends all followers, so that a stopping server does not wait for them. */
  function close() {
    for (const onClose of readers.values()) onClose()
  }
}
