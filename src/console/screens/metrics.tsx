import { useEffect, useRef, useState } from 'preact/hooks'
import { bytes, number } from '../format.ts'
import { linkTo, query } from '../router.ts'
import type { Samples, Series } from '../ui/line-chart.ts'
import { Card, Empty, Tabs, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

type ChartKind = { title: string; series: Series[]; format: (value: number) => string }

const SPANS: [hours: number, name: string][] = [
  [1, '1 hour'],
  [6, '6 hours'],
  [24, '24 hours'],
  [168, '7 days'],
  [720, '30 days'],
]
const CHARTS: ChartKind[] = [
  {
    title: 'Requests',
    series: [
      { name: 'requests', label: 'requests' },
      { name: 'errors', label: 'failed' },
    ],
    format: number,
  },
  {
    title: 'Response time (ms)',
    series: [
      { name: 'p50', label: 'p50' },
      { name: 'p99', label: 'p99' },
    ],
    format: number,
  },
  { title: 'Billing events', series: [{ name: 'events', label: 'events' }], format: number },
  {
    title: 'Database writes',
    series: [{ name: 'writes', label: 'writes' }],
    format: number,
  },
  { title: 'Memory', series: [{ name: 'memory', label: 'resident' }], format: bytes },
]

export function MetricsScreen() {
  const hours = Number(query.value.get('hours') ?? 1)
  const samples = useRemote<Samples>(`metrics?hours=${hours}`)
  return (
    <>
      <Title>Metrics</Title>
      <Tabs
        label="Time range"
        tabs={SPANS.map(([span, name]) => [
          linkTo('metrics', { hours: String(span) }),
          name,
          span === hours,
        ])}
      />
      <Loaded from={samples}>
        {(data) =>
          data.length < 2 ? (
            <Empty>Not enough data yet. Metrics are recorded every minute.</Empty>
          ) : (
            CHARTS.map((chart) => (
              <Card key={chart.title} title={chart.title}>
                <Chart samples={data} {...chart} />
              </Card>
            ))
          )
        }
      </Loaded>
    </>
  )
}

/** A line chart, with its maximum and latest values as text. */
function Chart({ samples, title, series, format }: ChartKind & { samples: Samples }) {
  const element = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) =>
      setWidth(Math.floor(entry?.contentRect.width ?? 0)),
    )
    if (element.current) observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    if (width === 0 || !element.current) return
    const container = element.current
    let chart: { destroy: () => void } | null = null
    let isUnmounted = false
    void import('../ui/line-chart.ts').then(({ drawLines }) => {
      if (!isUnmounted) chart = drawLines(container, width, samples, series, format)
    })
    return () => {
      isUnmounted = true
      chart?.destroy()
    }
  }, [width, samples])
  const figures = series.map(({ name, label }) => {
    const values = samples.map((sample) => sample[name])
    return `${label}: maximum ${format(Math.max(...values))}, latest ${format(values.at(-1) ?? 0)}`
  })
  return (
    <>
      <div ref={element} class="chart" role="img" aria-label={`${title} chart`} />
      <p class="soft">{figures.join('; ')}</p>
    </>
  )
}
