/** A sample of a process, in minutes since the start of the run; `life` counts processes. */
export type Sample = {
  life: number
  minute: number
  age: number
  memory: number
  descriptors: number
}

export type Slope = { perHour: number; error: number }

/** A new process still grows, so its first minutes do not count. */
const WARM_UP = 5

/**
 * How `value` grows per hour within a process, with its standard error: least squares over the medians of whole
 * minutes, with a separate level for each process. Null if no process ran long enough.
 */
export function slopeOf(samples: Sample[], value: (sample: Sample) => number): Slope | null {
  const old = samples.filter(({ age }) => age >= WARM_UP)
  const minutes = Map.groupBy(old, ({ life, minute }) => `${life}/${Math.floor(minute)}`)
  const points = [...minutes.values()].map((group) => ({
    life: group[0]?.life ?? 0,
    x: (group[0]?.minute ?? 0) / 60,
    y: median(group.map(value)),
  }))
  const lives = [...Map.groupBy(points, ({ life }) => life).values()]
  const centred = lives.flatMap((life) => {
    const [x, y] = [mean(life.map((point) => point.x)), mean(life.map((point) => point.y))]
    return life.map((point) => ({ x: point.x - x, y: point.y - y }))
  })
  const spread = sum(centred.map(({ x }) => x * x))
  const freedom = centred.length - lives.length - 1
  if (spread === 0 || freedom < 1) return null
  const perHour = sum(centred.map(({ x, y }) => x * y)) / spread
  const residue = sum(centred.map(({ x, y }) => (y - perHour * x) ** 2))
  return { perHour, error: Math.sqrt(residue / freedom / spread) }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function mean(values: number[]): number {
  return sum(values) / values.length
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
