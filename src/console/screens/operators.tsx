import { useState } from 'preact/hooks'
import type { Operators } from '../../features/operators/operators.ts'
import { type ReplyOf, send } from '../api.ts'
import { me, type Role } from '../operator.ts'
import { Confirm } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Action, Badge, Card, Copy, List, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

type OperatorList = ReplyOf<Operators['accounts']['list']>

const ROLES: [Role, string][] = [
  ['reader', 'sees everything'],
  ['operator', 'changes things'],
  ['owner', 'says who may'],
]

export function OperatorsScreen() {
  const operators = useRemote<OperatorList>('operators')
  const [link, setLink] = useState('')
  const isOwner = me.value?.role === 'owner'
  const change = async (path: string, body: unknown) => {
    const reply = await send<{ link?: string } | null>(path, body)
    if (reply?.link) setLink(reply.link)
    await operators.reload()
  }
  return (
    <>
      <Title>Operators</Title>
      {link && (
        <Card title="A link to hand over">
          <p>It works once, for 30 minutes, and is shown this once.</p>
          <pre>{link}</pre>
          <div class="actions">
            <Copy text={link} label="Copy the link" />
          </div>
        </Card>
      )}
      <Loaded from={operators}>
        {(list) => (
          <List items={list}>
            {({ name, role, passkeys, hasPassword, isSetUp }) => (
              <li key={name}>
                <strong>{name}</strong>
                <Badge>{role}</Badge>
                {!isSetUp && <Badge tone="warn">not set up yet</Badge>}
                <span class="soft">
                  {passkeys} passkeys{hasPassword ? ', password' : ''}
                </span>
                {isOwner && (
                  <span class="actions">
                    <select
                      value={role}
                      aria-label={`Role of ${name}`}
                      style={{ width: 'auto' }}
                      onChange={(event) =>
                        void change('operators/role', {
                          name,
                          role: event.currentTarget.value,
                        }).catch(operators.reload)
                      }
                    >
                      {ROLES.map(([one]) => (
                        <option key={one}>{one}</option>
                      ))}
                    </select>
                    <Confirm
                      label={`Reset ${name}`}
                      run={() => change('operators/reset', { name })}
                      done={`${name} gets a new link.`}
                    >
                      <p>Passkeys, password and sessions of {name} end. A new link is shown.</p>
                    </Confirm>
                    <Confirm
                      label={`Remove ${name}`}
                      run={() => change('operators/remove', { name })}
                      done={`${name} is removed.`}
                    >
                      <p>{name} is signed out at once and cannot come back.</p>
                    </Confirm>
                  </span>
                )}
              </li>
            )}
          </List>
        )}
      </Loaded>
      {isOwner && <Invite onInvite={(name, role) => change('operators', { name, role })} />}
    </>
  )
}

function Invite({ onInvite }: { onInvite: (name: string, role: string) => Promise<void> }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState('operator')
  const invite = async () => {
    await onInvite(name.trim(), role)
    setName('')
  }
  return (
    <Card title="Invite somebody">
      <div class="filters">
        <TextField label="Name" value={name} autocomplete="off" onChange={setName} />
        <SelectField
          label="Role"
          value={role}
          options={ROLES.map(([one, meaning]) => [one, `${one}: ${meaning}`])}
          onChange={setRole}
        />
        <Action kind="primary" disabled={name.trim() === ''} run={invite}>
          Make a link
        </Action>
      </div>
    </Card>
  )
}
