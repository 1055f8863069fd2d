/** A value of a metric, with its labels. `part` is `bucket`, `sum` or `count` of a histogram. */
export type MetricValue = {
  labels: Record<string, string | number>
  value: number
  part?: string
}

/** One value, or one per value of `label`; null when it is unknown. */
type Reading = number | boolean | null | Record<string, number> | MetricValue[]

type Read<Needs> = (needs: Needs) => Reading | Promise<Reading>

/** A metric of `/metrics`, read on each scrape. */
export type Metric<Needs> = {
  type: 'gauge' | 'counter' | 'histogram'
  help: string
  read: Read<Needs>
  label?: string
}

/** Metrics by name, which begins with `homeport_`, or with `process_` for the process. */
export type MetricList<Needs> = Record<string, Metric<Needs>>

export type Metrics = ReturnType<typeof createMetrics>

export function gauge<Needs>(help: string, read: Read<Needs>, label = ''): Metric<Needs> {
  return { type: 'gauge', help, read, label }
}

export function counter<Needs>(help: string, read: Read<Needs>, label = ''): Metric<Needs> {
  return { type: 'counter', help, read, label }
}

/** Renders metrics in the text format of Prometheus. */
export function createMetrics<Needs>(
  metrics: MetricList<Needs>,
  needs: Needs,
  instance: string | null = null,
) {
  return { render, read }

  /** Returns no values for an unknown metric. */
  async function read(name: string): Promise<MetricValue[]> {
    const metric = metrics[name]
    return metric ? readValues(metric) : []
  }

  /** Leaves out metrics that cannot be read now, for example during an outage of the database. */
  async function render() {
    const texts = Object.entries(metrics).map((entry) => format(entry).catch(() => null))
    const text = `${(await Promise.all(texts)).filter((one) => one !== null).join('\n\n')}\n`
    return { text, contentType: 'text/plain; version=0.0.4; charset=utf-8' }
  }

  async function format([name, metric]: [string, Metric<Needs>]): Promise<string> {
    const lines = (await readValues(metric)).map(({ part, labels, value }) => {
      const all = instance === null ? labels : { ...labels, homeport_instance: instance }
      // Prometheus quotes text like JSON.
      const texts = Object.entries(all).map(
        ([label, one]) => `${label}=${JSON.stringify(`${one}`)}`,
      )
      const braced = texts.length === 0 ? '' : `{${texts.join(',')}}`
      return `${part ? `${name}_${part}` : name}${braced} ${value}`
    })
    return [`# HELP ${name} ${metric.help}`, `# TYPE ${name} ${metric.type}`, ...lines].join('\n')
  }

  async function readValues({ read, label = '' }: Metric<Needs>): Promise<MetricValue[]> {
    const reading = await read(needs)
    if (reading === null) return []
    if (Array.isArray(reading)) return reading
    if (typeof reading !== 'object') return [{ labels: {}, value: Number(reading) }]
    return Object.entries(reading).map(([key, value]) => ({ labels: { [label]: key }, value }))
  }
}
