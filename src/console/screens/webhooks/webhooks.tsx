import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { DraftOffers, useDraft } from '../../editing/use-draft.tsx'
import { canEdit } from '../../operator.ts'
import { linkTo, parts } from '../../router.ts'
import { Checkbox, TextField } from '../../ui/fields.tsx'
import { Action, Card, TimeAgo, Title } from '../../ui/parts.tsx'
import { Problems } from '../../ui/problems.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { ListBar, Table } from '../../ui/table.tsx'
import { Breakable } from '../../ui/user-link.tsx'
import { DeliveryScreen } from './delivery.tsx'
import { EndpointScreen } from './endpoint.tsx'
import { type Endpoint, EndpointState, Secret } from './parts.tsx'

type Endpoints = { endpoints: Endpoint[]; types: string[] }
type NewEndpoint = { url: string; events: string[]; description: string }

const ALL_EVENTS = 'all'

/** The webhook endpoints, one endpoint, or one delivery. */
export function Screen() {
  const [, first, second] = parts.value
  if (first === undefined) return <EndpointList />
  if (first === 'deliveries' && second !== undefined) return <DeliveryScreen id={second} />
  return <EndpointScreen id={first} />
}

function EndpointList() {
  const webhooks = useRemote<Endpoints>('webhooks')
  const [secret, setSecret] = useState('')
  const add = async (endpoint: NewEndpoint) => {
    const added = await send<{ secret: string }>('webhooks/add', endpoint)
    setSecret(added.secret)
    await webhooks.reload()
  }
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
              empty="No endpoints yet."
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
            {canEdit.value && <AddEndpoint types={types} onAdd={add} />}
          </>
        )}
      </Loaded>
    </>
  )
}

type AddProps = { types: string[]; onAdd: (endpoint: NewEndpoint) => Promise<void> }

const EMPTY: NewEndpoint = { url: '', events: [ALL_EVENTS], description: '' }

function AddEndpoint({ types, onAdd }: AddProps) {
  const draft = useDraft<NewEndpoint>({
    screen: 'webhooks',
    initial: EMPTY,
    isChanged: ({ url, description }) => url !== '' || description !== '',
    storable: withoutSecrets,
  })
  const { value: endpoint, setValue: setEndpoint } = draft
  const { url, description, events: chosen } = endpoint
  const set = (change: Partial<NewEndpoint>) => setEndpoint({ ...endpoint, ...change })
  const add = async () => {
    await onAdd({ url: url.trim(), events: chosen, description: description.trim() })
    setEndpoint(EMPTY)
  }
  const toggle = (type: string, isChosen: boolean) =>
    set({ events: [...chosen.filter((one) => one !== type), ...(isChosen ? [type] : [])] })
  const isAll = chosen.includes(ALL_EVENTS)
  return (
    <Card title="Add an endpoint">
      <DraftOffers draft={draft} />
      <Problems>
        <form class="stack" onSubmit={(event) => event.preventDefault()}>
          <TextField
            label="URL"
            hint="Begins with https://"
            path="url"
            value={url}
            autocomplete="off"
            spellcheck={false}
            onChange={(text) => set({ url: text })}
          />
          <TextField
            label="Description"
            hint="Optional"
            path="description"
            value={description}
            autocomplete="off"
            maxLength={200}
            onChange={(text) => set({ description: text })}
          />
          <Checkbox
            label="All events"
            hint="Includes events added in later versions"
            checked={isAll}
            onChange={(checked) => set({ events: checked ? [ALL_EVENTS] : [] })}
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
          <div class="actions">
            <Action
              kind="primary"
              isSubmit
              disabled={url.trim() === '' || chosen.length === 0}
              run={add}
              done="Endpoint added."
            >
              Add endpoint
            </Action>
          </div>
        </form>
      </Problems>
    </Card>
  )
}

/** Credentials and queries of a URL are not kept. Half a URL would be mistaken for a whole one. */
function withoutSecrets(endpoint: NewEndpoint): NewEndpoint {
  return /[@?#]/.test(endpoint.url) ? { ...endpoint, url: '' } : endpoint
}
