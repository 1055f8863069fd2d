import { useState } from 'preact/hooks'
import { commandLine } from '../../declared.ts'
import { linkTo, parts } from '../../router.ts'
import { ActionForm } from '../../ui/declared.tsx'
import { Checkbox } from '../../ui/fields.tsx'
import { CopyLine, TimeAgo, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import type { Values } from '../../ui/schema-fields.tsx'
import { ListBar, Table } from '../../ui/table.tsx'
import { Breakable } from '../../ui/user-link.tsx'
import { DeliveryScreen } from './delivery.tsx'
import { EndpointScreen } from './endpoint.tsx'
import { type Endpoint, EndpointState, Secret } from './parts.tsx'

type Endpoints = { endpoints: Endpoint[]; types: string[] }

const ALL_EVENTS = 'all'

/** The webhook endpoints, one endpoint, or one delivery. */
export function Screen() {
  const [, first, second] = parts.value
  if (first === undefined) return <EndpointList />
  if (first === 'deliveries' && second !== undefined)
    return <DeliveryScreen key={second} id={second} />
  return <EndpointScreen id={first} />
}

function NoEndpoints() {
  return (
    <>
      <p>
        No endpoints yet. An endpoint is a URL of your own server: it gets a signed request when a
        user or their access changes, repeated until it answers. Add one below, or on the server:
      </p>
      <CopyLine name="command" text={commandLine('webhooks add https://example.com/homeport')} />
    </>
  )
}

function EndpointList() {
  const webhooks = useRemote<Endpoints>('webhooks')
  const [secret, setSecret] = useState('')
  return (
    <>
      <Title>Webhooks</Title>
      {secret !== '' && <Secret secret={secret} onHide={() => setSecret('')} />}
      <Loaded from={webhooks}>
        {({ endpoints, types }) => (
          <>
            <ListBar noun="endpoint" total={endpoints.length} csv="webhooks" />
            <Table
              caption="Webhook endpoints"
              rows={endpoints}
              keyOf={({ id }) => id}
              empty={<NoEndpoints />}
              columns={[
                {
                  name: 'URL',
                  sort: 'url',
                  value: ({ url }) => url,
                  cell: ({ id, url }) => (
                    <a href={linkTo(`webhooks/${id}`)}>
                      <Breakable text={url} />
                    </a>
                  ),
                },
                {
                  name: 'State',
                  onPhone: 'aside',
                  cell: (endpoint) => <EndpointState endpoint={endpoint} />,
                },
                endpoints.some(({ failingSince }) => failingSince !== null) && {
                  name: 'Failing since',
                  cell: ({ failingSince }) => failingSince && <TimeAgo at={failingSince} />,
                },
                { name: 'Events', onPhone: 'line', cell: ({ events }) => events.join(', ') },
                {
                  name: 'Description',
                  onPhone: 'line',
                  cell: ({ description }) => description || null,
                },
              ]}
            />
            <ActionForm
              path="webhooks/add"
              title="Add an endpoint"
              screen="webhooks"
              initial={{ events: [ALL_EVENTS] }}
              storable={withoutSecrets}
              controls={{
                events: (chosen, onChange) => (
                  <Events types={types} chosen={chosen as string[]} onChange={onChange} />
                ),
              }}
              onDone={async (added) => {
                setSecret(added.secret)
                await webhooks.reload()
              }}
            />
          </>
        )}
      </Loaded>
    </>
  )
}

type EventsProps = { types: string[]; chosen: string[]; onChange: (chosen: string[]) => void }

function Events({ types, chosen, onChange }: EventsProps) {
  const isAll = chosen.includes(ALL_EVENTS)
  const toggle = (type: string, isChosen: boolean) =>
    onChange([...chosen.filter((one) => one !== type), ...(isChosen ? [type] : [])])
  return (
    <>
      <Checkbox
        label="All events"
        hint="Includes events added in later versions"
        checked={isAll}
        onChange={(checked) => onChange(checked ? [ALL_EVENTS] : [])}
      />
      {!isAll &&
        types.map((type) => (
          <Checkbox
            key={type}
            label={type}
            checked={chosen.includes(type)}
            onChange={(checked) => toggle(type, checked)}
          />
        ))}
    </>
  )
}

/** Drops a URL with credentials or a query, because half a URL would be mistaken for a whole one. */
function withoutSecrets(endpoint: Values): Values {
  return /[@?#]/.test(`${endpoint['url']}`) ? { ...endpoint, url: '' } : endpoint
}
