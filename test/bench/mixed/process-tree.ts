import { readdir } from 'node:fs/promises'

type Stat = { parent: number; time: number }

/** In ms. */
const TICK = 10
const SAMPLE_INTERVAL = 250
/** The share of one core up to which a server counts as idle in a sample. */
const IDLE_SHARE = 0.05
const MAX_WAIT = 60_000

/** CPU time of a process and its descendants, in ms. */
export async function treeCpuTime(root: number): Promise<number> {
  const stats = new Map<number, Stat>()
  for (const name of await readdir('/proc')) {
    const stat = /^\d+$/.test(name) ? await readStat(name) : null
    if (stat) stats.set(Number(name), stat)
  }
  const isInTree = (pid: number): boolean => {
    if (pid === root) return true
    const parent = stats.get(pid)?.parent
    return parent !== undefined && isInTree(parent)
  }
  return [...stats].reduce((sum, [pid, { time }]) => (isInTree(pid) ? sum + time : sum), 0)
}

/** CPU time of the machine in ms, including time stolen by its host (proc(5), `/proc/stat`). */
export async function machineCpuTime(): Promise<number> {
  const [line = ''] = (await Bun.file('/proc/stat').text()).split('\n', 1)
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
    .split(/\s+/)
    .map(Number)
  return (user + nice + system + irq + softirq + steal) * TICK
}

/** Waits until a server has finished its remaining work; throws after a minute. */
export async function waitUntilIdle(pid: number) {
  const until = Date.now() + MAX_WAIT
  for (let before = await treeCpuTime(pid); Date.now() < until; ) {
    await Bun.sleep(SAMPLE_INTERVAL)
    const now = await treeCpuTime(pid)
    if (now - before <= IDLE_SHARE * SAMPLE_INTERVAL) return
    before = now
  }
  throw new Error('the server did not become idle')
}

/** The parent, and the CPU time including exited children (proc(5), fields 4 and 14 to 17). */
async function readStat(pid: string): Promise<Stat | null> {
  const text = await Bun.file(`/proc/${pid}/stat`)
    .text()
    .catch(() => null)
  if (text === null) return null
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  return { parent: Number(fields[1]), time: ticks * TICK }
}
