import type { MetricsSummary } from '../../../operations/console/metrics.ts'
import type { EndpointPoint, Steps } from '../../../platform/metrics/charts.ts'
import { number } from '../../format.ts'
import { query, readFilters, withQuery } from '../../router.ts'
import { Time } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Chart, type ChartKind } from './chart.tsx'
import {
  ConsoleChoice,
  EndpointLink,
  endpointName,
  formatShare,
  milliseconds,
  RESPONSE_TIME,
  rate,
} from './labels.tsx'

type Endpoint = MetricsSummary['endpoints'][number]

const COLUMNS: Column<Endpoint>[] = [
  {
    name: 'Endpoint',
    cell: ({ name }) => <EndpointLink name={name} />,
    sort: 'endpoint',
    value: ({ name }) => name.replace(/^\w+ /, ''),
  },
  { name: 'p99', kind: 'number', sort: '-p99', field: 'p99', format: milliseconds },
  { name: 'p50', kind: 'number', sort: '-p50', field: 'p50', format: milliseconds },
  { name: 'Requests', kind: 'number', sort: '-requests', field: 'count', format: number },
  {
    name: 'Refused (4xx)',
    cell: ({ refused, count }) => formatShare(refused, count),
    kind: 'number',
    sort: '-refused',
    value: ({ refused, count }) => refused / count,
  },
  {
    name: 'Failed (5xx)',
    cell: ({ errors, count }) => formatShare(errors, count),
    kind: 'number',
    sort: '-failed',
    value: ({ errors, count }) => errors / count,
  },
]
const CHARTS: ChartKind<EndpointPoint>[] = [
  RESPONSE_TIME,
  {
    title: 'Requests per minute',
    series: [
      { name: 'requests', label: 'requests', tone: 'accent' },
      { name: 'refused', label: 'refused (4xx)', tone: 'warn', isWide: true },
      { name: 'errors', label: 'failed (5xx)', tone: 'bad' },
    ],
    format: rate,
    isCount: true,
  },
]

/** A row per endpoint, with the chosen endpoint's charts below its row. */
export function Endpoints() {
  const { search } = readFilters(['hours'])
  const summary = useRemote<MetricsSummary>(`metrics/endpoints${search}`)
  const showsConsole = query.value.get('console') === 'on'
  const chosen = query.value.get('endpoint')
  return (
    <Loaded from={summary}>
      {({ since, endpoints }) => (
        <>
          <p class="soft">
            Since <Time at={since} />, up to the last full minute. p50 and p99 may be up to 19% too
            high.
          </p>
          <ConsoleChoice />
          <Table
            caption="Endpoints"
            columns={COLUMNS}
            rows={endpoints.filter(
              ({ name, isConsole }) => !isConsole || showsConsole || name === chosen,
            )}
            keyOf={({ name }) => name}
            order="-p99"
            empty="No requests in this time range."
            detail={({ name }) => name === chosen && <EndpointCharts name={name} />}
          />
        </>
      )}
    </Loaded>
  )
}

function EndpointCharts({ name }: { name: string }) {
  const { search } = readFilters(['hours', 'day', 'week'])
  const filter = new URLSearchParams(search)
  filter.set('name', name)
  const steps = useRemote<Steps<EndpointPoint>>(`metrics/endpoint?${filter}`)
  return (
    <section class="stack" aria-label={endpointName(name)}>
      <Loaded from={steps}>
        {(data) =>
          CHARTS.map((kind) => <Chart key={kind.title} steps={data} starts={[]} {...kind} />)
        }
      </Loaded>
      <a href={withQuery({ endpoint: '' })}>Hide the charts</a>
    </section>
  )
}
