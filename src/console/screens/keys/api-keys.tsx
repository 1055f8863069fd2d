import { useMemo, useState } from 'preact/hooks'
import type { ApiKeys } from '../../../features/api-keys/service.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import type { ReplyOf } from '../../api.ts'
import { commandLine, mayPerform, type ReplyTo } from '../../declared.ts'
import { plural } from '../../format.ts'
import { ActionButton, ActionForm } from '../../ui/declared.tsx'
import { Badge, CopyLine, TimeAgo, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { asTime, asTimeAgo, ListBar, Table } from '../../ui/table.tsx'
import { Breakable } from '../../ui/user-link.tsx'
import { OneTimeSecret } from '../operators/one-time-secret.tsx'

type Key = ReplyOf<ApiKeys['list']>[number]

/** The keys with which the app's other servers call the server API. */
export function Screen() {
  const keys = useRemote<Key[]>('api-keys')
  const [created, setCreated] = useState<ReplyTo<'api-keys'> | null>(null)
  const [replaced, setReplaced] = useState<Key | null>(null)
  const replacement = useMemo(() => replaced && replacementFor(replaced), [replaced])
  const isOwner = mayPerform('api-keys')
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
              empty={<NoKeys />}
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
                      {requestsPerMinute !== null &&
                        `; ${plural(requestsPerMinute, 'request')} per minute`}
                    </>
                  ),
                },
                { name: 'Last used', sort: '-used', field: 'lastUsedAt', format: asTimeAgo },
                {
                  name: 'Expires',
                  sort: 'expires',
                  field: 'expiresAt',
                  format: (at) => asTime(at) ?? 'never',
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
                        <ActionButton
                          path="api-keys/revoke"
                          input={{ id: key.id }}
                          target={key.name}
                          onDone={async () => {
                            setReplaced(null)
                            await keys.reload()
                          }}
                        >
                          <p>
                            Last used: <TimeAgo at={key.lastUsedAt} />
                          </p>
                        </ActionButton>
                      </>
                    ),
                },
              ]}
            />
          </>
        )}
      </Loaded>
      <ActionForm
        path="api-keys"
        title="Create an API key"
        screen="api-keys"
        filled={replacement}
        onDone={async (key) => {
          setCreated(key)
          await keys.reload()
        }}
      >
        {replaced && (
          <p>
            Create the key, put it on your server, and then revoke {replaced.name}. Until then, both
            work.
          </p>
        )}
      </ActionForm>
      {!isOwner && <p class="soft">Only owners can create and revoke keys.</p>}
    </>
  )
}

/** A key with the same rights. Both keys work until the old one is revoked, so that servers can switch. */
function replacementFor(key: Key) {
  const { name, scopes, networks, requestsPerMinute, createdAt, expiresAt } = key
  const lifetime = expiresAt === null ? null : Date.parse(expiresAt) - Date.parse(createdAt)
  const date = new Date().toISOString().slice(0, 10)
  return {
    name: `${name.replace(/ \d{4}-\d\d-\d\d$/, '')} ${date}`,
    scopes,
    networks,
    expiresInDays: lifetime === null ? '' : String(Math.ceil(lifetime / DAY_MS)),
    requestsPerMinute: String(requestsPerMinute ?? ''),
  }
}

function NoKeys() {
  return (
    <>
      <p>
        No API keys yet. With a key, another server of your app can look up users and subscriptions,
        and count usage. Create one below, or on the server:
      </p>
      <CopyLine
        name="command"
        text={commandLine('api-keys create my-server --scope users:read,subscriptions:read')}
      />
    </>
  )
}
