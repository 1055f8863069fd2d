import { useEffect, useRef, useState } from 'preact/hooks'
import type { ApiKeys } from '../../../features/api-keys/service.ts'
import { SCOPES, type Scope } from '../../../lib/scopes.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { type ReplyOf, send } from '../../api.ts'
import { DraftOffers, useDraft } from '../../editing/use-draft.tsx'
import { me } from '../../operator.ts'
import { Confirm } from '../../ui/dialog.tsx'
import { Checkbox, parseOptionalNumber, TextField } from '../../ui/fields.tsx'
import { Action, Badge, Card, Time, TimeAgo, Title } from '../../ui/parts.tsx'
import { Problems } from '../../ui/problems.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { ListBar, Table } from '../../ui/table.tsx'
import { Breakable } from '../../ui/user-link.tsx'
import { OneTimeSecret } from '../operators/one-time-secret.tsx'

type KeyList = ReplyOf<ApiKeys['list']>
type Created = ReplyOf<ApiKeys['create']>

const MEANINGS: Record<Scope, string> = {
  'users:read': 'reads users and server data, and checks access tokens',
  'users:write': 'creates, changes, signs out and deletes users; writes server data',
  'subscriptions:read': 'reads what users have paid for',
  'subscriptions:write': 'grants and revokes access',
  'files:read': 'lists users’ files, with addresses that open them',
  'usage:read': 'reads what users have used',
  'usage:write': 'counts usage against limits',
  'webhooks:write': 'manages webhook endpoints',
}

/** The keys with which the app's other servers call the server API. */
export function Screen() {
  const keys = useRemote<KeyList>('api-keys')
  const [created, setCreated] = useState<Created | null>(null)
  const [replaced, setReplaced] = useState<KeyList[number] | null>(null)
  const isOwner = me.value?.role === 'owner'
  const create = async (wanted: object) => {
    setCreated(await send<Created>('api-keys', wanted))
    await keys.reload()
  }
  const revoke = async (id: string) => {
    await send('api-keys/revoke', { id })
    setReplaced(null)
    await keys.reload()
  }
  return (
    <>
      <Title>API keys</Title>
      <p class="soft">
        Your other servers use these keys for the server API, which is described at{' '}
        <a href="/docs/server">/docs/server</a>.
      </p>
      {created && (
        <OneTimeSecret
          title={`Key ${created.name}`}
          text={created.secret}
          copyLabel="Copy key"
          onHide={() => setCreated(null)}
        >
          Copy the key now. It is not shown again.
        </OneTimeSecret>
      )}
      <Loaded from={keys}>
        {(list) => (
          <>
            <ListBar noun="API key" total={list.length} csv="api-keys" />
            <Table
              caption="API keys"
              rows={list}
              keyOf={({ id }) => id}
              empty="No API keys yet."
              columns={[
                {
                  name: 'Name',
                  sort: 'name',
                  value: ({ name }) => name,
                  cell: ({ name, prefix }) => (
                    <>
                      <strong>
                        <Breakable text={name} />
                      </strong>{' '}
                      <span class="mono soft">{prefix}…</span>
                    </>
                  ),
                },
                {
                  name: 'State',
                  onPhone: 'aside',
                  sort: 'state',
                  value: ({ status }) => status,
                  cell: ({ status }) => (
                    <Badge tone={status === 'active' ? 'good' : 'plain'}>{status}</Badge>
                  ),
                },
                {
                  name: 'Scopes',
                  onPhone: 'line',
                  cell: ({ scopes, networks, requestsPerMinute }) => (
                    <>
                      {scopes.join(', ')}
                      {networks.length > 0 && `; only from ${networks.join(', ')}`}
                      {requestsPerMinute !== null && `; ${requestsPerMinute} a minute`}
                    </>
                  ),
                },
                {
                  name: 'Last used',
                  sort: '-used',
                  value: ({ lastUsedAt }) => lastUsedAt,
                  cell: ({ lastUsedAt }) => <TimeAgo at={lastUsedAt} />,
                },
                {
                  name: 'Expires',
                  sort: 'expires',
                  value: ({ expiresAt }) => expiresAt,
                  cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Time at={expiresAt} />),
                },
                isOwner && {
                  name: 'Actions',
                  kind: 'actions',
                  cell: (key) =>
                    key.status !== 'revoked' && (
                      <>
                        <button type="button" onClick={() => setReplaced(key)}>
                          Replace {key.name}
                        </button>
                        <Confirm
                          label={`Revoke ${key.name}`}
                          done={`Revoked ${key.name}.`}
                          run={() => revoke(key.id)}
                        >
                          <p>
                            Requests with this key will fail immediately. It was last used:{' '}
                            <TimeAgo at={key.lastUsedAt} />.
                          </p>
                        </Confirm>
                      </>
                    ),
                },
              ]}
            />
          </>
        )}
      </Loaded>
      {isOwner && <NewKey replaced={replaced} onCreate={create} />}
      {!isOwner && <p class="soft">Only owners create and revoke keys.</p>}
    </>
  )
}

type KeyForm = { name: string; scopes: Scope[]; networks: string; days: string; rate: string }

const EMPTY: KeyForm = { name: '', scopes: [], networks: '', days: '', rate: '' }

/** A key with the same rights. Both work until the old one is revoked, so that servers can change over. */
function replacementFor(key: KeyList[number]): KeyForm {
  const { name, scopes, networks, requestsPerMinute, createdAt, expiresAt } = key
  const lifetime = expiresAt === null ? null : Date.parse(expiresAt) - Date.parse(createdAt)
  const date = new Date().toISOString().slice(0, 10)
  return {
    name: `${name.replace(/ \d{4}-\d\d-\d\d$/, '')} ${date}`,
    scopes,
    networks: networks.join(', '),
    days: lifetime === null ? '' : String(Math.ceil(lifetime / DAY_MS)),
    rate: String(requestsPerMinute ?? ''),
  }
}

type NewKeyProps = {
  /** The key whose rights the form is filled with when it changes. */
  replaced: KeyList[number] | null
  onCreate: (wanted: object) => Promise<void>
}

function NewKey({ replaced, onCreate }: NewKeyProps) {
  const draft = useDraft<KeyForm>({
    screen: 'api-keys',
    initial: EMPTY,
    isChanged: (form) => JSON.stringify(form) !== JSON.stringify(EMPTY),
  })
  const { value: form, setValue: setForm } = draft
  const { name, scopes, networks, days, rate } = form
  const fields = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (replaced === null) return
    setForm(replacementFor(replaced))
    fields.current?.querySelector('input')?.focus()
  }, [replaced])
  const set = (change: Partial<KeyForm>) => setForm({ ...form, ...change })
  const toggle = (scope: Scope, isOn: boolean) =>
    set({ scopes: isOn ? [...scopes, scope] : scopes.filter((other) => other !== scope) })
  const create = async () => {
    await onCreate({
      name: name.trim(),
      scopes,
      networks: networks.split(/[\s,]+/).filter((network) => network !== ''),
      expiresInDays: parseOptionalNumber(days),
      requestsPerMinute: parseOptionalNumber(rate),
    })
    setForm(EMPTY)
  }
  return (
    <Card title="Create an API key">
      <DraftOffers draft={draft} />
      {replaced && (
        <p>
          Create the key, put it on your server, and then revoke {replaced.name}. Until then, both
          work.
        </p>
      )}
      <Problems>
        <div class="fields" ref={fields}>
          <TextField
            label="Name"
            path="name"
            value={name}
            autocomplete="off"
            onChange={(text) => set({ name: text })}
          />
          <TextField
            label="Expires after (days)"
            placeholder="No expiry"
            path="expiresInDays"
            inputMode="numeric"
            value={days}
            onChange={(text) => set({ days: text })}
          />
          <TextField
            label="Requests per minute"
            placeholder="No limit"
            path="requestsPerMinute"
            inputMode="numeric"
            value={rate}
            onChange={(text) => set({ rate: text })}
          />
          <TextField
            label="Networks"
            hint="Such as 10.0.0.0/8; empty: all"
            path="networks"
            value={networks}
            onChange={(text) => set({ networks: text })}
          />
        </div>
        <fieldset>
          <legend>Scopes</legend>
          {SCOPES.map((scope) => (
            <Checkbox
              key={scope}
              label={scope}
              hint={MEANINGS[scope]}
              checked={scopes.includes(scope)}
              onChange={(isOn) => toggle(scope, isOn)}
            />
          ))}
        </fieldset>
        <div class="actions">
          <Action kind="primary" disabled={name.trim() === '' || scopes.length === 0} run={create}>
            Create key
          </Action>
        </div>
      </Problems>
    </Card>
  )
}
