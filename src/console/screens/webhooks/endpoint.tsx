import { useState } from 'preact/hooks'
import type { Deliveries } from '../../../features/webhooks/deliveries.ts'
import { failure, type ReplyOf } from '../../api.ts'
import { go, linkTo, readFilters } from '../../router.ts'
import { ActionButton } from '../../ui/declared.tsx'
import { type FilterKinds, ListFilters } from '../../ui/filters.tsx'
import { Action, Card, Details, type Facts, Time, TimeAgo, Title } from '../../ui/parts.tsx'
import { Loaded, usePages, useRemote } from '../../ui/remote.tsx'
import { asTimeAgo, type Column, PagedTable } from '../../ui/table.tsx'
import { UserLink } from '../../ui/user-link.tsx'
import { DeliveryState, type Endpoint, EndpointState, Secret } from './parts.tsx'

type DeliveryPage = ReplyOf<Deliveries['list']> & { names: Record<string, string> }
type Delivery = DeliveryPage['deliveries'][number] & Pick<DeliveryPage, 'names'>

const KINDS: FilterKinds = { state: { options: ['waiting', 'delivered', 'failed'] } }

/** One endpoint with its deliveries. */
export function EndpointScreen({ id }: { id: string }) {
  const path = `webhooks/${id}`
  const endpoint = useRemote<Endpoint>(path)
  const [secret, setSecret] = useState('')
  const { search } = readFilters(['state', 'sort'])
  const pages = usePages(`deliveries?endpoint=${id}${search.replace('?', '&')}`, namedDeliveries)
  const reload = async () => {
    await Promise.all([endpoint.reload(), pages.reload()])
  }
  const shared = { input: { id }, onDone: reload }
  return (
    <Loaded from={endpoint}>
      {(data) => (
        <>
          <Title
            actions={
              <ActionButton
                path="webhooks/:id/test"
                input={{ id }}
                onDone={async ({ status, duration, fault }) => {
                  await reload()
                  if (fault !== null) throw failure(fault)
                  return `Delivered: status ${status} in ${duration} ms.`
                }}
              />
            }
          >
            Webhook endpoint
          </Title>
          {secret !== '' && <Secret secret={secret} onHide={() => setSecret('')} />}
          <Card>
            <Details items={listFacts(data)} />
            <div class="actions">
              {data.disabledAt === null ? (
                <ActionButton path="webhooks/:id/disable" {...shared} />
              ) : (
                <ActionButton path="webhooks/:id/enable" {...shared} />
              )}
              <ActionButton
                path="webhooks/:id/rotate"
                input={{ id }}
                onDone={async (rotated) => {
                  setSecret(rotated.secret)
                  await reload()
                }}
              />
              <ActionButton path="webhooks/:id/resend-failed" {...shared} />
              <ActionButton path="webhooks/:id/change" {...shared} asks={['url', 'events']} />
              <ActionButton
                path="webhooks/:id/remove"
                input={{ id }}
                onDone={() => go(linkTo('webhooks'))}
              />
            </div>
          </Card>
          <Card title="Deliveries">
            <ListFilters path={path} kinds={KINDS} isShort>
              <Action run={reload}>Reload</Action>
            </ListFilters>
            <PagedTable
              caption="Deliveries"
              pages={pages}
              noun="delivery"
              columns={COLUMNS}
              order="-created"
              empty="No deliveries match."
            />
          </Card>
        </>
      )}
    </Loaded>
  )
}

function listFacts(endpoint: Endpoint): Facts {
  const { id, url, events, description, createdAt, rotatingUntil, failingSince } = endpoint
  const isRotating = rotatingUntil !== null && Date.parse(rotatingUntil) > Date.now()
  return [
    ['URL', <code key="url">{url}</code>],
    ['State', <EndpointState key="state" endpoint={endpoint} />],
    failingSince !== null && ['Failing since', <TimeAgo key="since" at={failingSince} />],
    ['Events', events.join(', ')],
    ['Description', description || '–'],
    ['Id', <code key="id">{id}</code>],
    ['Added', <Time key="added" at={createdAt} />],
    isRotating && ['Previous secret valid until', <Time key="until" at={rotatingUntil} />],
  ]
}

function namedDeliveries({ deliveries, names }: DeliveryPage): Delivery[] {
  return deliveries.map((delivery) => ({ ...delivery, names }))
}

const COLUMNS: Column<Delivery>[] = [
  {
    name: 'Type',
    cell: ({ id, type }) => <a href={linkTo(`webhooks/deliveries/${id}`)}>{type}</a>,
  },
  {
    name: 'User',
    onPhone: 'line',
    cell: ({ userId, names }) => userId && <UserLink id={userId} names={names} />,
  },
  { name: 'State', onPhone: 'aside', cell: (delivery) => <DeliveryState delivery={delivery} /> },
  { name: 'Attempts', onPhone: 'omitted', kind: 'number', field: 'attempts' },
  { name: 'Next attempt', field: 'nextAttemptAt', format: (at) => at && asTimeAgo(at) },
  {
    name: 'Created',
    onPhone: 'line',
    sort: '-created',
    cell: ({ createdAt }) => asTimeAgo(createdAt),
  },
]
