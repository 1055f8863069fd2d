import { Counter, Gauge, type Metric, Registry } from 'prom-client'

/** Upper bounds in seconds: from a cached read to a client that gives up. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type MetricRow = { labels: Record<string, string | number>; value: number; metricName?: string }

/** One number, or one per value of `label`; null when it is unknown. */
type Value = number | null | Record<string, number>

/** A metric that is read on each scrape. */
export type Reading = {
  name: string
  help: string
  read: () => Value | Promise<Value>
  label?: string
  /** Whether it is a counter. */
  isCounter?: boolean
}

export type Metrics = ReturnType<typeof createMetrics>

/** Metrics in Prometheus text format. Names begin with `homeport_`, or `process_` for the process. */
export function createMetrics(readings: Reading[], instance: string | null = null) {
  const registry = new Registry()
  if (instance !== null) registry.setDefaultLabels({ homeport_instance: instance })
  const requests = createRequestTimes()
  registry.registerMetric(requests.metric as unknown as Metric)
  for (const reading of readings) register(reading)
  return { observeRequest: requests.observe, createCounter, render, read }

  function register({ name, help, read, label, isCounter }: Reading) {
    const options = { name, help, registers: [registry], labelNames: label ? [label] : [] }
    if (isCounter) new Counter({ ...options, collect })
    else new Gauge({ ...options, collect })

    async function collect(this: Counter | Gauge) {
      const value = await read()
      this.reset()
      if (value === null) this.remove()
      else if (typeof value === 'number') this.inc(value)
      else
        for (const [key, count] of Object.entries(value)) this.inc({ [label ?? 'of']: key }, count)
    }
  }
  /** A counter per value of `label`. Known values start at 0: `increase()` needs an earlier sample. */
  function createCounter<Known extends string>(
    name: string,
    help: string,
    label: string,
    known: readonly Known[],
  ): (value: string) => void {
    const counts: Record<string, number> = Object.fromEntries(known.map((value) => [value, 0]))
    register({ name, help, label, isCounter: true, read: () => counts })
    return (value) => {
      counts[value] = (counts[value] ?? 0) + 1
    }
  }

  /** The current values of a metric; `part` is `bucket`, `sum` or `count` of a histogram. */
  async function read(name: string) {
    const metric = await registry.getSingleMetric(name)?.get()
    const values = (metric?.values ?? []) as MetricRow[]
    return values.map(({ labels, value, metricName }) => {
      const part = metricName?.slice(name.length + 1)
      return { labels, value, ...(part ? { part } : {}) }
    })
  }

  /** Leaves out metrics that cannot be read now, for example during an outage of the database. */
  async function render() {
    const names = registry.getMetricsAsArray().map(({ name }) => name)
    const texts = await Promise.all(
      names.map((name) => registry.getSingleMetricAsString(name).catch(() => [])),
    )
    const text = `${texts.flat().join('\n\n')}\n`
    return { text, contentType: registry.contentType }
  }
}

/** `route` is the route pattern, `code` the code of the reply, if any. */
export type RequestLabels = { method: string; route: string; status: number; code: string }

/** Requests with the same labels: `counts` by bucket, the last one for longer times. `sum` is in seconds. */
type Series = { labels: RequestLabels; counts: number[]; sum: number }

/** A histogram in the form of prom-client, whose own takes longer to find its labels than we to route a request. */
function createRequestTimes() {
  const all = new Map<string, Series>()
  const name = 'homeport_http_request_duration_seconds'
  const help = 'Time from the request to its reply'
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    values: [...all.values()].flatMap(rowsOf),
  })
  return { metric: { name, get }, observe }

  function observe(labels: RequestLabels, seconds: number) {
    const series = seriesOf(labels)
    let bucket = 0
    while (seconds > (BUCKETS[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
    series.sum += seconds
  }

  function seriesOf(labels: RequestLabels): Series {
    const key = `${labels.method} ${labels.route} ${labels.status} ${labels.code}`
    const known = all.get(key)
    if (known !== undefined) return known
    const series = { labels, counts: Array<number>(BUCKETS.length + 1).fill(0), sum: 0 }
    all.set(key, series)
    return series
  }

  function rowsOf({ labels, counts, sum }: Series) {
    let count = 0
    const buckets = [...BUCKETS, '+Inf'].map((le, at) => {
      count += counts[at] ?? 0
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ]
  }
}

/** The resource use of this process. */
export const processReadings: Reading[] = [
  {
    name: 'process_resident_memory_bytes',
    help: 'Resident memory',
    read: () => process.memoryUsage.rss(),
  },
  {
    name: 'process_cpu_seconds_total',
    help: 'CPU time, user and system',
    isCounter: true,
    read: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    },
  },
  {
    name: 'process_start_time_seconds',
    help: 'Start of the process, in seconds since 1970',
    read: () => Math.round(performance.timeOrigin) / 1000,
  },
]
