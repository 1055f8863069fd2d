import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import { canEdit } from '../operator.ts'
import { linkTo, parts } from '../router.ts'
import { Checkbox, TextField } from '../ui/fields.tsx'
import { Action, Card, List, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'
import { DeliveryScreen } from './webhook-delivery.tsx'
import { EndpointScreen } from './webhook-endpoint.tsx'
import { type Endpoint, EndpointState, Secret } from './webhook-parts.tsx'

type Endpoints = { endpoints: Endpoint[]; types: string[] }
type NewEndpoint = { url: string; events: string[]; description: string }

const ALL_EVENTS = 'all'

/** The webhook endpoints, one endpoint, or one delivery. */
export function WebhooksScreen() {
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
      {secret !== '' && <Secret secret={secret} />}
      <Loaded from={webhooks}>
        {({ endpoints, types }) => (
          <>
            <List items={endpoints} empty="No endpoints yet.">
              {(endpoint) => <EndpointRow key={endpoint.id} endpoint={endpoint} />}
            </List>
            {canEdit.value && <AddEndpoint types={types} onAdd={add} />}
          </>
        )}
      </Loaded>
    </>
  )
}

function EndpointRow({ endpoint }: { endpoint: Endpoint }) {
  const { id, url, events, description } = endpoint
  return (
    <li>
      <a href={linkTo(`webhooks/${id}`)}>{url}</a>
      <EndpointState endpoint={endpoint} />
      <span class="soft">{events.join(', ')}</span>
      {description !== '' && <span class="wide soft">{description}</span>}
    </li>
  )
}

type AddProps = { types: string[]; onAdd: (endpoint: NewEndpoint) => Promise<void> }

function AddEndpoint({ types, onAdd }: AddProps) {
  const [url, setUrl] = useState('')
  const [description, setDescription] = useState('')
  const [chosen, setChosen] = useState([ALL_EVENTS])
  const add = async () => {
    await onAdd({ url: url.trim(), events: chosen, description: description.trim() })
    setUrl('')
    setDescription('')
  }
  const toggle = (type: string, isChosen: boolean) =>
    setChosen((before) => [...before.filter((one) => one !== type), ...(isChosen ? [type] : [])])
  const isAll = chosen.includes(ALL_EVENTS)
  return (
    <Card title="Add an endpoint">
      <form class="stack" onSubmit={(event) => event.preventDefault()}>
        <TextField
          label="URL"
          hint="Begins with https://"
          value={url}
          autocomplete="off"
          spellcheck={false}
          onChange={setUrl}
        />
        <TextField
          label="Description"
          hint="Optional"
          value={description}
          autocomplete="off"
          maxLength={200}
          onChange={setDescription}
        />
        <Checkbox
          label="All events"
          hint="Also those of later versions"
          checked={isAll}
          onChange={(checked) => setChosen(checked ? [ALL_EVENTS] : [])}
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
    </Card>
  )
}
