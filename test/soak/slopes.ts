/** A sample of a process: `minute` counts from the start of the run, `age` from the start of the process, `generation` counts processes. */
export type Sample = {
  generation: number
  minute: number
  age: number
  memory: number
  descriptors: number
}

export type Slope = { perHour: number; error: number }

/**
 * How `value` grows per hour within a process older than `minAge` minutes, because a new one still grows, with its
 * standard error: least squares over the medians of whole minutes, with a separate level for each process. Null if no
 * process ran long enough.
 */
export function slopeOf(
  samples: Sample[],
  value: (sample: Sample) => number,
  minAge: number,
): Slope | null {
  const old = samples.filter(({ age }) => age >= minAge)
  const minutes = Map.groupBy(
    old,
    ({ generation, minute }) => `${generation}/${Math.floor(minute)}`,
  )
  const points = [...minutes.values()].map((group) => ({
    generation: group[0]?.generation ?? 0,
    x: (group[0]?.minute ?? 0) / 60,
    y: median(group.map(value)),
  }))
  const generations = [...Map.groupBy(points, ({ generation }) => generation).values()]
  const centred = generations.flatMap((generation) => {
    const [x, y] = [
      mean(generation.map((point) => point.x)),
      mean(generation.map((point) => point.y)),
    ]
    return generation.map((point) => ({ x: point.x - x, y: point.y - y }))
  })
  const spread = sum(centred.map(({ x }) => x * x))
  const degreesOfFreedom = centred.length - generations.length - 1
  if (spread === 0 || degreesOfFreedom < 1) return null
  const perHour = sum(centred.map(({ x, y }) => x * y)) / spread
  const squaredResiduals = sum(centred.map(({ x, y }) => (y - perHour * x) ** 2))
  return { perHour, error: Math.sqrt(squaredResiduals / degreesOfFreedom / spread) }
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
