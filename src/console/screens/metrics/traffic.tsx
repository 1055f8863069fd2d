import type { MetricsSummary } from '../../../operations/console/metrics.ts'
import type { Steps, TrafficPoint } from '../../../platform/metrics/charts.ts'
import { publicUrl } from '../../declared.ts'
import { bytes, plural } from '../../format.ts'
import { readFilters } from '../../router.ts'
import { CopyLine, Empty, Time } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { Chart, type ChartKind, type Start } from './chart.tsx'
import { EndpointLink, milliseconds, RESPONSE_TIME, rate } from './labels.tsx'

type TrafficReply = { steps: Steps<TrafficPoint>; starts: Start[] }

const CHARTS: ChartKind<TrafficPoint>[] = [
  {
    title: 'Requests per minute',
    series: [
      { name: 'requests', label: 'requests', tone: 'accent' },
      { name: 'errors', label: 'failed (5xx)', tone: 'bad' },
    ],
    format: rate,
    isCount: true,
  },
  RESPONSE_TIME,
  {
    title: 'Billing events per minute',
    series: [{ name: 'events', label: 'events', tone: 'accent' }],
    format: rate,
    isCount: true,
  },
  {
    title: 'Database writes per minute',
    series: [{ name: 'writes', label: 'writes', tone: 'accent' }],
    format: rate,
    isCount: true,
  },
  {
    title: 'Memory',
    series: [{ name: 'memory', label: 'memory', tone: 'accent' }],
    format: bytes,
  },
]

/** The charts of the whole server, and its slowest endpoint. */
export function Traffic() {
  const { search } = readFilters(['hours', 'day', 'week'])
  const traffic = useRemote<TrafficReply>(`metrics${search}`)
  return (
    <>
      <Slowest />
      <Loaded from={traffic}>
        {({ steps, starts }) =>
          steps.current.filter((point) => point !== null).length < 2 ? (
            <NoMetrics />
          ) : (
            <>
              {starts.length > 0 && <Restarts starts={starts} />}
              <div class="charts">
                {CHARTS.map((kind) => (
                  <Chart key={kind.title} steps={steps} starts={starts} {...kind} />
                ))}
              </div>
            </>
          )
        }
      </Loaded>
    </>
  )
}

function Slowest() {
  const { search } = readFilters(['hours'])
  const summary = useRemote<MetricsSummary>(`metrics/endpoints${search}`)
  if (!summary.data?.slowest) return null
  const { slowest, minRequests } = summary.data
  return (
    <p class="sentence">
      The slowest endpoint with at least {minRequests} requests is{' '}
      <EndpointLink name={slowest.name} />: p99 {milliseconds(slowest.p99)}, p50{' '}
      {milliseconds(slowest.p50)}, over {plural(slowest.count, 'request')}.
    </p>
  )
}

function Restarts({ starts }: { starts: Start[] }) {
  return (
    <p class="soft">
      Restarts:{' '}
      {starts.map(({ at, instance, version, before }, index) => (
        <span key={at + instance}>
          {index > 0 && ', '}
          <Time at={at} />
          {instance !== '' && ` (${instance})`}
          {before !== null && ` from ${before} to ${version}`}
        </span>
      ))}
    </p>
  )
}

function NoMetrics() {
  return (
    <Empty>
      <p>
        Not enough data yet. Requests, response times, events and memory are recorded every minute,
        and shown after two. For Prometheus, set METRICS_TOKEN and read:
      </p>
      <CopyLine name="URL" text={publicUrl('/metrics')} />
    </Empty>
  )
}
