/** Buckets grow by 2^¼ from 0.1 to 1.4 million: ms, or seconds for long times. Quantiles are up to 19% too high. */
export type Histogram = Uint32Array<ArrayBuffer>

export type Buckets = number[]

const BUCKETS = 96
const MIN = 0.1

export function createHistogram(): Histogram {
  return new Uint32Array(BUCKETS)
}

export function addValue(histogram: Histogram, value: number) {
  const at = value <= MIN ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log2(value / MIN) * 4))
  histogram[at] = (histogram[at] ?? 0) + 1
}

export function addBuckets(histogram: Histogram, buckets: Buckets) {
  for (let at = 0; at < buckets.length; at += 2) {
    const bucket = buckets[at] ?? 0
    histogram[bucket] = (histogram[bucket] ?? 0) + (buckets[at + 1] ?? 0)
  }
}

export function listBuckets(histogram: Histogram): Buckets {
  const buckets: Buckets = []
  for (let at = 0; at < BUCKETS; at++) {
    const count = histogram[at] ?? 0
    if (count > 0) buckets.push(at, count)
  }
  return buckets
}

export function mergeBuckets(list: Buckets[]): Buckets {
  const [only] = list
  if (only && list.length === 1) return only
  const histogram = createHistogram()
  for (const buckets of list) addBuckets(histogram, buckets)
  return listBuckets(histogram)
}

/** The value that `share` of all values do not exceed; 0 without values. */
export function computeQuantile(buckets: Buckets, share: number): number {
  let total = 0
  for (let at = 1; at < buckets.length; at += 2) total += buckets[at] ?? 0
  let seen = 0
  for (let at = 0; at < buckets.length; at += 2) {
    seen += buckets[at + 1] ?? 0
    if (seen >= total * share) return Math.round(MIN * 2 ** ((buckets[at] ?? 0) / 4) * 100) / 100
  }
  return 0
}
