import type { MetricsSummary } from '../../../operations/console/metrics.ts'
import { number, upTo1000 } from '../../format.ts'
import { linkTo, readFilters } from '../../router.ts'
import { Card, Time } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { formatShare, milliseconds, seconds } from './labels.tsx'

type Outgoing = MetricsSummary['outgoing'][number]
type Incoming = MetricsSummary['incoming'][number]

const PROVIDERS: Record<string, string> = {
  revenuecat: 'RevenueCat',
  app_store: 'App Store',
  play_store: 'Google Play',
  stripe: 'Stripe',
}
const OUTGOING: Column<Outgoing>[] = [
  { name: 'Endpoint', cell: ({ id, url }) => <a href={linkTo(`webhooks/${id}`)}>{url}</a> },
  { name: 'Delivered', kind: 'number', field: 'delivered', format: number },
  { name: 'Failed permanently', kind: 'number', field: 'failed', format: number },
  { name: 'Failed attempts, retried', kind: 'number', field: 'retried', format: number },
  { name: 'Waiting now', kind: 'number', field: 'waiting', format: upTo1000 },
  { name: 'p50', kind: 'number', cell: (row) => ifReplied(row, row.p50) },
  { name: 'p99', kind: 'number', cell: (row) => ifReplied(row, row.p99) },
]
const INCOMING: Column<Incoming>[] = [
  { name: 'From', cell: ({ provider }) => PROVIDERS[provider] ?? provider },
  { name: 'Received', kind: 'number', field: 'received', format: number },
  {
    name: 'Failed',
    kind: 'number',
    cell: ({ failed, received }) => formatShare(failed, received),
  },
  {
    name: 'Conflicting',
    kind: 'number',
    cell: ({ conflicting, received }) => formatShare(conflicting, received),
  },
  { name: 'Delay p50', kind: 'number', field: 'p50', format: seconds },
  { name: 'Delay p99', kind: 'number', field: 'p99', format: seconds },
]

/** Webhooks to the operator's servers, and billing events from the providers. */
export function Deliveries() {
  const { search } = readFilters(['hours'])
  const summary = useRemote<MetricsSummary>(`metrics/endpoints${search}`)
  return (
    <Loaded from={summary}>
      {({ since, outgoing, incoming }) => (
        <>
          <p class="soft">
            Since <Time at={since} />, up to the last full minute.
          </p>
          <Card title="Outgoing webhooks">
            <Table
              caption="Outgoing webhooks"
              columns={OUTGOING}
              rows={outgoing}
              keyOf={({ id }) => id}
              empty={<NoEndpoints />}
            />
            <p class="soft">p50 and p99 are the response times of your servers.</p>
          </Card>
          <Card title="Incoming billing events">
            <Table
              caption="Incoming billing events"
              columns={INCOMING}
              rows={incoming}
              keyOf={({ provider }) => provider}
              empty="No billing events in this time range."
            />
            <p class="soft">
              The delay is the time from an event to its first delivery. View the{' '}
              <a href={linkTo('events', { outcome: 'failed' })}>failed</a> and{' '}
              <a href={linkTo('events', { conflicting: 'true' })}>conflicting</a> events.
            </p>
          </Card>
        </>
      )}
    </Loaded>
  )
}

function ifReplied({ delivered, retried, failed }: Outgoing, ms: number): string {
  return delivered + retried + failed === 0 ? '–' : milliseconds(ms)
}

function NoEndpoints() {
  return (
    <>
      No webhook endpoints. Add one on <a href={linkTo('webhooks')}>Webhooks</a>.
    </>
  )
}
