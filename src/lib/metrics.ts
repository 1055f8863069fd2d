import { Counter, Gauge, Histogram, Registry } from 'prom-client'

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
  const requests = new Histogram({
    name: 'homeport_http_request_duration_seconds',
    help: 'Time from the request to its reply',
    labelNames: ['method', 'route', 'status', 'code'],
    buckets: BUCKETS,
    registers: [registry],
  })
  for (const { name, help, read, label, isCounter } of readings) {
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
  return { observeRequest, createCounter, render, read }

  /** `route` is the route pattern, `code` the code of the reply, if any. */
  function observeRequest(labels: RequestLabels, seconds: number) {
    requests.observe(labels, seconds)
  }

  /** A counter per value of `label`. Known values start at 0: `increase()` needs an earlier sample. */
  function createCounter<Known extends string>(
    name: string,
    help: string,
    label: string,
    known: readonly Known[],
  ): (value: string) => void {
    const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
    for (const value of known) counter.inc({ [label]: value }, 0)
    return (value) => counter.inc({ [label]: value })
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

  async function render() {
    return { text: await registry.metrics(), contentType: registry.contentType }
  }
}

export type RequestLabels = { method: string; route: string; status: number; code: string }

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
