import { useState } from 'preact/hooks'
import type { Operators } from '../../../features/operators/operators.ts'
import { ROLES, type Role } from '../../../lib/roles.ts'
import { type ReplyOf, send } from '../../api.ts'
import { plural, words } from '../../format.ts'
import { me } from '../../operator.ts'
import { Confirm } from '../../ui/dialog.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { Action, Badge, Card, TimeAgo, Title } from '../../ui/parts.tsx'
import { Problems } from '../../ui/problems.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { ListBar, Table } from '../../ui/table.tsx'
import { Breakable } from '../../ui/user-link.tsx'
import { OneTimeSecret } from './one-time-secret.tsx'

type OperatorList = ReplyOf<Operators['accounts']['list']>

type Invitation = { name: string; link: string }

const ROLE_RIGHTS: Record<string, string> = {
  reader: 'Readers view everything and change nothing.',
  operator: 'Operators view everything and make changes, but do not manage operators.',
  owner: 'Owners do everything, and manage operators.',
}
const ROLE_OPTIONS = ROLES.map((role): [value: string, name: string] => [role, words(role)])

export function Screen() {
  const operators = useRemote<OperatorList>('operators')
  const [invitation, setInvitation] = useState<Invitation | null>(null)
  const isOwner = me.value?.role === 'owner'
  const change = async (path: string, body: { name: string; role?: string }) => {
    const reply = await send<{ link?: string } | null>(path, body)
    if (reply?.link) setInvitation({ name: body.name, link: reply.link })
    await operators.reload()
  }
  const changeRole = async (name: string, role: string) => {
    await change('operators/role', { name, role })
    const own = me.value
    if (own?.name === name) me.value = { ...own, role: role as Role }
  }
  return (
    <>
      <Title>Operators</Title>
      {invitation && (
        <OneTimeSecret
          title={`Invitation link for ${invitation.name}`}
          text={invitation.link}
          copyLabel="Copy link"
          onHide={() => setInvitation(null)}
        >
          Send this link to {invitation.name}. It works once, within 30 minutes, and is not shown
          again. If it expires, reset their sign-in for a new one.
        </OneTimeSecret>
      )}
      <Loaded from={operators}>
        {(list) => (
          <>
            <ListBar noun="operator" total={list.length} csv="operators" />
            <Table
              caption="Operators"
              rows={list}
              keyOf={({ name }) => name}
              order="name"
              columns={[
                {
                  name: 'Name',
                  sort: 'name',
                  value: ({ name }) => name,
                  cell: ({ name }) => (
                    <strong>
                      <Breakable text={name} />
                    </strong>
                  ),
                },
                {
                  name: 'Role',
                  onPhone: 'aside',
                  sort: 'role',
                  value: ({ role }) => role,
                  cell: ({ role }) => role,
                },
                {
                  name: 'Sign-in',
                  onPhone: 'line',
                  cell: ({ passkeys, hasPassword, isSetUp }) =>
                    isSetUp ? (
                      `${plural(passkeys, 'passkey')}${hasPassword ? ', password' : ''}`
                    ) : (
                      <Badge tone="warn">Not set up</Badge>
                    ),
                },
                {
                  name: 'Added',
                  sort: '-added',
                  value: ({ createdAt }) => createdAt,
                  cell: ({ createdAt }) => <TimeAgo at={createdAt} />,
                },
                isOwner && {
                  name: 'Actions',
                  kind: 'actions',
                  cell: ({ name, role }) => (
                    <details class="manage">
                      <summary class="button" aria-label={`Manage ${name}`}>
                        Manage
                      </summary>
                      <RoleChange name={name} role={role} onChange={changeRole} />
                      <div class="actions">
                        {name !== me.value?.name && (
                          <Confirm
                            label={`Reset sign-in for ${name}`}
                            shortLabel="Reset sign-in"
                            verb="Reset sign-in"
                            isSecondary
                            run={() => change('operators/reset', { name })}
                            done={`New link for ${name} created.`}
                          >
                            <p>
                              This removes all passkeys and the password of {name}, and ends all
                              sessions. You get a new link to send.
                            </p>
                          </Confirm>
                        )}
                        <Confirm
                          label={`Remove ${name}`}
                          shortLabel="Remove operator"
                          verb="Remove operator"
                          run={() => change('operators/remove', { name })}
                          done={`Removed ${name}.`}
                        >
                          <p>{name} is signed out at once and can no longer sign in.</p>
                        </Confirm>
                      </div>
                    </details>
                  ),
                },
              ]}
            />
          </>
        )}
      </Loaded>
      {isOwner && <Invite onInvite={(name, role) => change('operators', { name, role })} />}
    </>
  )
}

type RoleChangeProps = {
  name: string
  role: string
  onChange: (name: string, role: string) => Promise<void>
}

function RoleChange({ name, role, onChange }: RoleChangeProps) {
  const [chosen, setChosen] = useState(role)
  return (
    <>
      <SelectField
        label={`Role of ${name}`}
        value={chosen}
        options={ROLE_OPTIONS}
        onChange={setChosen}
      />
      {chosen !== role && (
        <Confirm
          label={`Make ${name} ${chosen}`}
          shortLabel="Change role"
          verb="Change role"
          isReversible
          run={() => onChange(name, chosen)}
          done={`${name} is now ${chosen}.`}
        >
          <p>{ROLE_RIGHTS[chosen]}</p>
          {name === me.value?.name && (
            <p>This changes your own role. Only another owner can restore it.</p>
          )}
        </Confirm>
      )}
    </>
  )
}

function Invite({ onInvite }: { onInvite: (name: string, role: string) => Promise<void> }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState('reader')
  const invite = async () => {
    await onInvite(name.trim(), role)
    setName('')
  }
  return (
    <Card title="Invite an operator">
      <p class="soft">
        Readers view everything, operators also make changes, and owners also manage operators.
      </p>
      <Problems>
        <div class="fields">
          <TextField label="Name" path="name" value={name} autocomplete="off" onChange={setName} />
          <SelectField label="Role" value={role} options={ROLE_OPTIONS} onChange={setRole} />
          <Action kind="primary" disabled={name.trim() === ''} run={invite}>
            Create invitation
          </Action>
        </div>
      </Problems>
    </Card>
  )
}
