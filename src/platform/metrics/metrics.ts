import { Counter, Gauge, type Metric, Registry as Prometheus } from 'prom-client'
import { LIMITS, type Registry, type RequestSeries } from './registry.ts'

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

const DURATIONS = 'homeport_http_request_duration_seconds'

/** Metrics in Prometheus text format. Names begin with `homeport_`, or `process_` for the process. */
export function createMetrics(
  { requests }: Registry,
  readings: Reading[],
  instance: string | null = null,
) {
  const prometheus = new Prometheus()
  if (instance !== null) prometheus.setDefaultLabels({ homeport_instance: instance })
  prometheus.registerMetric({
    name: DURATIONS,
    // prom-client's own histogram takes longer to find its labels than we to route a request.
    get: async () => ({
      name: DURATIONS,
      help: 'Time from the request to its reply',
      type: 'histogram',
      values: requests().flatMap(toRows),
    }),
  } as unknown as Metric)
  for (const reading of readings) register(reading)
  return { render, read }

  function register({ name, help, read, label, isCounter }: Reading) {
    const options = { name, help, registers: [prometheus], labelNames: label ? [label] : [] }
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

  /** The current values of a metric; `part` is `bucket`, `sum` or `count` of a histogram. */
  async function read(name: string) {
    const metric = await prometheus.getSingleMetric(name)?.get()
    const values = (metric?.values ?? []) as MetricRow[]
    return values.map(({ labels, value, metricName }) => {
      const part = metricName?.slice(name.length + 1)
      return { labels, value, ...(part ? { part } : {}) }
    })
  }

  /** Leaves out metrics that cannot be read now, for example during an outage of the database. */
  async function render() {
    const names = prometheus.getMetricsAsArray().map(({ name }) => name)
    const texts = await Promise.all(
      names.map((name) => prometheus.getSingleMetricAsString(name).catch(() => [])),
    )
    const text = `${texts.flat().join('\n\n')}\n`
    return { text, contentType: prometheus.contentType }
  }
}

function toRows({ labels, count, sum, buckets }: RequestSeries) {
  let total = 0
  const cumulative = [...LIMITS, '+Inf'].map((le, at) => {
    total += buckets[at] ?? 0
    return { metricName: `${DURATIONS}_bucket`, labels: { le, ...labels }, value: total }
  })
  return [
    ...cumulative,
    { metricName: `${DURATIONS}_sum`, labels, value: sum },
    { metricName: `${DURATIONS}_count`, labels, value: count },
  ]
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
