import type { SlowRequests } from '../../../operations/console/metrics.ts'
import { linkTo, readFilters } from '../../router.ts'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { asTimeAgo, type Column, Table } from '../../ui/table.tsx'
import { ConsoleChoice, EndpointLink, milliseconds } from './labels.tsx'

type SlowRequest = SlowRequests[number]

const COLUMNS: Column<SlowRequest>[] = [
  { name: 'Request', cell: ({ name }) => <EndpointLink name={name} /> },
  {
    name: 'Duration',
    onPhone: 'aside',
    kind: 'number',
    sort: '-duration',
    field: 'ms',
    format: milliseconds,
  },
  { name: 'Status', sort: '-status', field: 'status' },
  { name: 'When', onPhone: 'line', sort: '-when', field: 'at', format: asTimeAgo },
  {
    name: 'User',
    onPhone: 'line',
    cell: ({ userId }) =>
      userId && (
        <a class="unbroken" href={linkTo(`people/${userId}`)}>
          Open user
        </a>
      ),
  },
  {
    name: 'Request id',
    onPhone: 'line',
    cell: ({ requestId }) => (
      <a href={linkTo('live', { text: requestId })} title="Find it in the live log">
        <code class="clip">{requestId}</code>
      </a>
    ),
  },
]

/** The slowest single requests. */
export function SlowestRequests() {
  const { search } = readFilters(['console'])
  const requests = useRemote<SlowRequests>(`metrics/slowest${search}`)
  return (
    <Loaded from={requests}>
      {(rows) => (
        <>
          <p class="soft">
            The 20 slowest requests on this server in the last hour. A restart clears the list. The
            live log shows the last 500 lines; find older ones in the log by their request id.
          </p>
          <ConsoleChoice />
          <Table
            caption="The slowest requests"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ requestId, at }) => requestId + at}
            order="-duration"
            empty="No requests in the last hour."
          />
        </>
      )}
    </Loaded>
  )
}
