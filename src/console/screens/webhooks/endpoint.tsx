import { useState } from 'preact/hooks'
import type { Deliveries } from '../../../features/webhooks/deliveries.ts'
import type { Webhooks } from '../../../features/webhooks/webhooks.ts'
import { failure, type ReplyOf, send } from '../../api.ts'
import { words } from '../../format.ts'
import { canEdit } from '../../operator.ts'
import { go, linkTo, readFilters } from '../../router.ts'
import { Confirm } from '../../ui/dialog.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { Filters } from '../../ui/filters.tsx'
import { showMessage } from '../../ui/messages.tsx'
import { Action, Card, Details, type Fact, Time, TimeAgo, Title } from '../../ui/parts.tsx'
import { Loaded, usePages, useRemote } from '../../ui/remote.tsx'
import { type Column, ListBar, Table } from '../../ui/table.tsx'
import { UserLink } from '../../ui/user-link.tsx'
import { DeliveryState, type Endpoint, EndpointState, Secret } from './parts.tsx'

type DeliveryPage = ReplyOf<Deliveries['list']> & { names: Record<string, string> }
type Delivery = DeliveryPage['deliveries'][number] & Pick<DeliveryPage, 'names'>
type TestResult = ReplyOf<Webhooks['test']>

const STATES: [value: string, name: string][] = [
  ['', 'Any'],
  ['waiting', 'Waiting'],
  ['delivered', 'Delivered'],
  ['failed', 'Failed'],
]

/** One endpoint with its deliveries. */
export function EndpointScreen({ id }: { id: string }) {
  const path = `webhooks/${id}`
  const endpoint = useRemote<Endpoint>(path)
  const [secret, setSecret] = useState('')
  const { filter } = readFilters(['state'])
  const state = filter['state'] ?? ''
  const { search } = readFilters(['state', 'sort'])
  const deliveries = `deliveries?endpoint=${id}${search.replace('?', '&')}`
  const page = usePages(deliveries, namedDeliveries)
  const reload = async () => {
    await Promise.all([endpoint.reload(), page.reload()])
  }
  const test = async () => {
    const { status, duration, fault } = await send<TestResult>(`${path}/test`)
    await reload()
    if (fault !== null) throw failure(fault)
    showMessage(`Delivered: status ${status} in ${duration} ms.`)
  }
  const change = (action: string) => async () => {
    await send(`${path}/${action}`)
    await reload()
  }
  const rotate = async () => {
    const rotated = await send<{ secret: string }>(`${path}/rotate`)
    setSecret(rotated.secret)
    await reload()
  }
  const [wanted, setWanted] = useState({ url: '', events: '' })
  const save = async () => {
    const { url, events } = wanted
    const types = events.split(/[\s,]+/).filter(Boolean)
    const given = { ...(url ? { url } : {}), ...(types.length > 0 ? { events: types } : {}) }
    await send(`${path}/change`, given)
    setWanted({ url: '', events: '' })
    await reload()
  }
  const remove = async () => {
    await send(`${path}/remove`)
    go(linkTo('webhooks'))
  }
  return (
    <Loaded from={endpoint}>
      {(data) => (
        <>
          <Title actions={canEdit.value && <Action run={test}>Send test event</Action>}>
            Webhook endpoint
          </Title>
          {secret !== '' && <Secret secret={secret} onHide={() => setSecret('')} />}
          <Card>
            <Details items={listFacts(data)} />
            {canEdit.value && (
              <div class="actions">
                {data.disabledAt === null ? (
                  <Confirm
                    label="Disable endpoint"
                    shortLabel="Disable"
                    isReversible
                    run={change('disable')}
                    done="Endpoint disabled."
                  >
                    <p>
                      Events while disabled are not sent. Waiting deliveries resume when you enable
                      it.
                    </p>
                  </Confirm>
                ) : (
                  <Action run={change('enable')} done="Endpoint enabled.">
                    Enable
                  </Action>
                )}
                <Confirm label="Rotate secret" run={rotate} done="The new secret is in use.">
                  <p>Both secrets sign for 24 hours. Enter the new one in your receiver by then.</p>
                </Confirm>
                <Action run={change('resend-failed')} done="Failed deliveries are sent again.">
                  Resend failed
                </Action>
                <Confirm label="Change endpoint" isReversible run={save} done="Endpoint changed.">
                  <p>Waiting deliveries go to the new URL. The secret stays.</p>
                  <TextField
                    label="New URL"
                    hint="Leave empty to keep the URL"
                    value={wanted.url}
                    onChange={(url) => setWanted({ ...wanted, url: url.trim() })}
                  />
                  <TextField
                    label="New events"
                    hint="all, or types separated by commas. Empty to keep them"
                    value={wanted.events}
                    onChange={(events) => setWanted({ ...wanted, events })}
                  />
                </Confirm>
                <Confirm label="Remove endpoint" run={remove} done="Endpoint removed.">
                  <p>This removes its secret and its deliveries, including waiting ones.</p>
                </Confirm>
              </div>
            )}
          </Card>
          <Card title="Deliveries">
            <Filters
              filter={filter}
              describe={(_, value) => words(value)}
              onRemove={() => go(linkTo(path))}
            >
              <SelectField
                label="State"
                value={state}
                options={STATES}
                onChange={(chosen) => go(linkTo(path, { state: chosen }))}
              />
              <Action run={reload}>Reload</Action>
            </Filters>
            <Loaded from={page.first}>
              {() => (
                <>
                  <ListBar noun="delivery" total={page.total} csv={deliveries} isPersonal />
                  <Table
                    caption="Deliveries"
                    rows={page.rows}
                    keyOf={({ id: delivery }) => delivery}
                    columns={COLUMNS}
                    order="-created"
                    empty="No deliveries match."
                  />
                  {page.next !== null && <Action run={page.loadMore}>Load more</Action>}
                </>
              )}
            </Loaded>
          </Card>
        </>
      )}
    </Loaded>
  )
}

function listFacts(endpoint: Endpoint): Fact[] {
  const { id, url, events, description, createdAt, rotatingUntil, failingSince } = endpoint
  const isRotating = rotatingUntil !== null && Date.parse(rotatingUntil) > Date.now()
  const rotation: Fact = ['Former secret signs until', <Time key="until" at={rotatingUntil} />]
  return [
    ['URL', <code key="url">{url}</code>],
    ['State', <EndpointState key="state" endpoint={endpoint} />],
    ...(failingSince ? [['Failing since', <TimeAgo key="since" at={failingSince} />] as Fact] : []),
    ['Events', events.join(', ')],
    ['Description', description || '–'],
    ['Id', <code key="id">{id}</code>],
    ['Added', <Time key="added" at={createdAt} />],
    ...(isRotating ? [rotation] : []),
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
  { name: 'Attempts', onPhone: 'omitted', kind: 'number', cell: ({ attempts }) => attempts },
  {
    name: 'Next attempt',
    cell: ({ nextAttemptAt }) => nextAttemptAt && <TimeAgo at={nextAttemptAt} />,
  },
  {
    name: 'Created',
    onPhone: 'line',
    sort: '-created',
    cell: ({ createdAt }) => <TimeAgo at={createdAt} />,
  },
]
