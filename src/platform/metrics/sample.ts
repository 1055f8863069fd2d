import { computeQuantile, mergeBuckets } from './histogram.ts'
import type { Sample } from './schema.ts'

/** Merges consecutive samples: counts and minutes add up, and memory is the highest. */
export function mergeConsecutive(list: Sample[], minutesOfEach = 1): Sample {
  const minutes = list.reduce((sum, one) => sum + (one.minutes ?? minutesOfEach), 0)
  return { ...merge(list), minutes, memory: Math.max(0, ...list.map(({ memory }) => memory)) }
}

/** Merges simultaneous samples of several instances: their counts and memory add up. */
export function mergeInstances(list: Sample[], minutesOfEach = 1): Sample {
  const minutes = Math.max(...list.map((one) => one.minutes ?? minutesOfEach))
  const [only] = list
  if (only && list.length === 1) return { ...only, minutes }
  return { ...merge(list), minutes, memory: list.reduce((sum, { memory }) => sum + memory, 0) }
}

/** Samples of earlier versions have no buckets: then the slowest p50 and p99 are kept. */
function merge(list: Sample[]): Omit<Sample, 'memory'> {
  const sum = (name: 'requests' | 'errors' | 'events' | 'writes') =>
    list.reduce((total, sample) => total + sample[name], 0)
  const times = list.every((one) => one.times !== undefined)
    ? mergeBuckets(list.map((one) => one.times ?? []))
    : undefined
  const quantile = (name: 'p50' | 'p99', share: number) =>
    times ? computeQuantile(times, share) : Math.max(0, ...list.map((one) => one[name]))
  return {
    requests: sum('requests'),
    errors: sum('errors'),
    events: sum('events'),
    writes: sum('writes'),
    p50: quantile('p50', 0.5),
    p99: quantile('p99', 0.99),
    ...(times ? { times } : {}),
  }
}
