import { readFileSync } from 'node:fs'
import { residentMemory } from '../bench/servers.ts'
import type { Server } from './executable.ts'

/**
 * Calls `probe` repeatedly in the background, with `pause` ms in between. The returned function
 * stops it and returns the number of calls, the longest time and the 99th
 * percentile in ms, and the server's peak memory in bytes.
 */
export function watchServer({ process }: Server, probe: () => Promise<void>, pause: number) {
  const times: number[] = []
  let isOver = false
  let peak = 0
  const watching = watch()
  return async () => {
    isOver = true
    await watching
    const sorted = times.toSorted((a, b) => a - b)
    const longest = sorted.at(-1) ?? 0
    return { count: times.length, longest, p99: sorted[Math.floor(times.length * 0.99)] ?? 0, peak }
  }

  async function watch() {
    while (!isOver) {
      const start = performance.now()
      await probe()
      times.push(performance.now() - start)
      peak = Math.max(peak, await residentMemory(process.pid))
      await Bun.sleep(pause)
    }
  }
}

/** Records the peak memory of a server's largest image worker, in bytes, until the returned function is called. */
export function watchWorkers({ process }: Server) {
  let isOver = false
  let peak = 0
  const watching = (async () => {
    while (!isOver) {
      const { stdout } = Bun.spawnSync(['ps', '-o', 'rss=', '--ppid', String(process.pid)])
      const sizes = stdout.toString().trim().split(/\s+/).map(Number)
      peak = Math.max(peak, ...sizes.map((kibibytes) => kibibytes * 1024))
      await Bun.sleep(50)
    }
  })()
  return async () => {
    isOver = true
    await watching
    return peak
  }
}

/** The peak memory of this process's image worker in bytes, and its CPU time in ms. */
export function readWorkerUsage() {
  const { stdout } = Bun.spawnSync(['pgrep', '-P', String(process.pid), '-f', 'image-worker'])
  const readProc = (file: string) =>
    readFileSync(`/proc/${stdout.toString().trim()}/${file}`, 'utf8')
  const [, kibibytes] = /VmHWM:\s+(\d+)/.exec(readProc('status')) ?? []
  const [user, system] = readProc('stat').split(') ')[1]?.split(' ').slice(11) ?? []
  return { memory: Number(kibibytes) * 1024, time: (Number(user) + Number(system)) * 10 }
}
