/** A value of a metric, with its labels. `part` is `bucket`, `sum` or `count` of a histogram. */
export type MetricValue = {
  labels: Record<string, string | number>
  value: number
  part?: string
}

/** Also one value per value of `label`; null when it is unknown. */
type Reading = number | null | Record<string, number> | MetricValue[]

/** A metric of `/metrics`. Its name begins with `homeport_`, or `process_` for the process. */
export type Metric = {
  name: string
  help: string
  /** `gauge` if it is not set. */
  type?: 'counter' | 'histogram'
  label?: string
  /** Called on each scrape. */
  read: () => Reading | Promise<Reading>
}

export type Metrics = ReturnType<typeof createMetrics>

/** Metrics in the text format of Prometheus. */
export function createMetrics(metrics: readonly Metric[], instance: string | null = null) {
  return { render, read }

  /** The current values of a metric; none if there is no such metric. */
  async function read(name: string): Promise<MetricValue[]> {
    const metric = metrics.find((one) => one.name === name)
    return metric ? readValues(metric) : []
  }

  /** Leaves out metrics that cannot be read now, for example during an outage of the database. */
  async function render() {
    const texts = await Promise.all(metrics.map((metric) => format(metric).catch(() => null)))
    const text = `${texts.filter((one) => one !== null).join('\n\n')}\n`
    return { text, contentType: 'text/plain; version=0.0.4; charset=utf-8' }
  }

  async function format(metric: Metric): Promise<string> {
    const { name, help, type = 'gauge' } = metric
    const lines = (await readValues(metric)).map(({ part, labels, value }) => {
      const all = instance === null ? labels : { ...labels, homeport_instance: instance }
      // Prometheus quotes as JSON does.
      const texts = Object.entries(all).map(
        ([label, one]) => `${label}=${JSON.stringify(`${one}`)}`,
      )
      const braced = texts.length === 0 ? '' : `{${texts.join(',')}}`
      return `${part ? `${name}_${part}` : name}${braced} ${value}`
    })
    return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n')
  }
}

async function readValues({ read, label = '' }: Metric): Promise<MetricValue[]> {
  const reading = await read()
  if (reading === null) return []
  if (typeof reading === 'number') return [{ labels: {}, value: reading }]
  if (Array.isArray(reading)) return reading
  return Object.entries(reading).map(([key, value]) => ({ labels: { [label]: key }, value }))
}

/** The resource use of this process. */
export const processMetrics: Metric[] = [
  {
    name: 'process_resident_memory_bytes',
    help: 'Resident memory',
    read: () => process.memoryUsage.rss(),
  },
  {
    name: 'process_cpu_seconds_total',
    help: 'CPU time, user and system',
    type: 'counter',
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
