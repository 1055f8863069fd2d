import { useState } from 'preact/hooks'
import type { ApiKeys } from '../../features/api-keys/service.ts'
import { SCOPES, type Scope } from '../../lib/scopes.ts'
import { type ReplyOf, send } from '../api.ts'
import { DraftOffers, useDraft } from '../editing/use-draft.tsx'
import { me } from '../operator.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Checkbox, TextField } from '../ui/fields.tsx'
import { Action, Badge, Card, Copy, List, Time, TimeAgo, Title } from '../ui/parts.tsx'
import { Problems } from '../ui/problems.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

type KeyList = ReplyOf<ApiKeys['list']>
type Created = ReplyOf<ApiKeys['create']>

const MEANINGS: Record<Scope, string> = {
  'users:read': 'reads users and server data, and checks access tokens',
  'users:write': 'creates, changes, signs out and deletes users; writes server data',
  'subscriptions:read': 'reads what users have paid for',
  'subscriptions:write': 'grants and revokes access',
  'usage:read': 'reads what users have used',
  'usage:write': 'counts usage against limits',
  'webhooks:write': 'manages webhook endpoints',
}

/** The keys with which the app's other servers call the server API. */
export function ApiKeysScreen() {
  const keys = useRemote<KeyList>('api-keys')
  const [created, setCreated] = useState<Created | null>(null)
  const isOwner = me.value?.role === 'owner'
  const create = async (wanted: object) => {
    setCreated(await send<Created>('api-keys', wanted))
    await keys.reload()
  }
  const revoke = async (id: string) => {
    await send('api-keys/revoke', { id })
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
        <Card title={`Key ${created.name}`}>
          <p>Copy the key now. It is not shown again.</p>
          <pre>{created.secret}</pre>
          <div class="actions">
            <Copy text={created.secret} label="Copy key" />
            <Action run={async () => setCreated(null)}>Hide key</Action>
          </div>
        </Card>
      )}
      <Loaded from={keys}>
        {(list) => (
          <List items={list} empty="No API keys yet.">
            {(key) => (
              <li key={key.id}>
                <strong>{key.name}</strong>
                <span class="mono">{key.prefix}…</span>
                <Badge tone={key.status === 'active' ? 'good' : 'plain'}>{key.status}</Badge>
                <span class="soft">
                  {key.scopes.join(', ')}
                  {key.networks.length > 0 && `; only from ${key.networks.join(', ')}`}
                  {key.requestsPerMinute !== null && `; ${key.requestsPerMinute} a minute`}
                </span>
                <span class="soft">
                  {key.lastUsedAt === null ? 'never used' : 'last used '}
                  {key.lastUsedAt !== null && <TimeAgo at={key.lastUsedAt} />}
                  {key.expiresAt !== null && ', expires '}
                  {key.expiresAt !== null && <Time at={key.expiresAt} />}
                </span>
                {isOwner && key.status !== 'revoked' && (
                  <span class="actions">
                    <Confirm
                      label={`Revoke ${key.name}`}
                      done={`Revoked ${key.name}.`}
                      run={() => revoke(key.id)}
                    >
                      <p>Servers that use this key are refused from now on.</p>
                    </Confirm>
                  </span>
                )}
              </li>
            )}
          </List>
        )}
      </Loaded>
      {isOwner && <NewKey onCreate={create} />}
    </>
  )
}

type KeyForm = { name: string; scopes: Scope[]; networks: string; days: string; rate: string }

const EMPTY: KeyForm = { name: '', scopes: [], networks: '', days: '', rate: '' }

function NewKey({ onCreate }: { onCreate: (wanted: object) => Promise<void> }) {
  const draft = useDraft<KeyForm>({
    screen: 'api-keys',
    initial: EMPTY,
    isChanged: (form) => JSON.stringify(form) !== JSON.stringify(EMPTY),
  })
  const { value: form, setValue: setForm } = draft
  const { name, scopes, networks, days, rate } = form
  const set = (change: Partial<KeyForm>) => setForm({ ...form, ...change })
  const toggle = (scope: Scope, isOn: boolean) =>
    set({ scopes: isOn ? [...scopes, scope] : scopes.filter((other) => other !== scope) })
  const create = async () => {
    await onCreate({
      name: name.trim(),
      scopes,
      networks: networks.split(/[\s,]+/).filter((network) => network !== ''),
      expiresInDays: days.trim() === '' ? null : Number(days),
      requestsPerMinute: rate.trim() === '' ? null : Number(rate),
    })
    setForm(EMPTY)
  }
  return (
    <Card title="Create an API key">
      <DraftOffers
        drafts={draft.others}
        hasChanges={draft.hasChanges}
        onDelete={draft.forget}
        onRestore={({ key, content }) => {
          setForm(content as KeyForm)
          draft.forget(key)
        }}
      />
      <Problems>
        <div class="fields">
          <TextField
            label="Name"
            path="name"
            value={name}
            autocomplete="off"
            onChange={(text) => set({ name: text })}
          />
          <TextField
            label="Expires after (days)"
            hint="Empty: never"
            path="expiresInDays"
            inputMode="numeric"
            value={days}
            onChange={(text) => set({ days: text })}
          />
          <TextField
            label="Requests per minute"
            hint="Empty: no limit"
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
