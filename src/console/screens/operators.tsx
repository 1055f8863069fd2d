import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import type { Me, OperatorList, Role } from '../types.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Act, Badge, Card, Copy, Field, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

const ROLES: [Role, string][] = [
  ['reader', 'sees everything'],
  ['operator', 'changes things'],
  ['owner', 'says who may'],
]

/** Who may use the console. */
export function OperatorsScreen({ me }: { me: Me }) {
  const operators = useRemote<OperatorList>('operators')
  const [link, setLink] = useState('')
  const isOwner = me.role === 'owner'
  const act = (path: string, body: unknown) => async () => {
    const made = await send<{ link?: string } | null>(path, body)
    if (made?.link) setLink(made.link)
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
          <ul class="list">
            {list.map(({ name, role, passkeys, hasPassword, isSetUp }) => (
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
                        void act('operators/role', {
                          name,
                          role: event.currentTarget.value,
                        })().catch(operators.reload)
                      }
                    >
                      {ROLES.map(([one]) => (
                        <option key={one}>{one}</option>
                      ))}
                    </select>
                    <Confirm
                      label={`Reset ${name}`}
                      act={act('operators/reset', { name })}
                      done={`${name} gets a new link.`}
                    >
                      <p>Passkeys, password and sessions of {name} end. A new link is shown.</p>
                    </Confirm>
                    <Confirm
                      label={`Remove ${name}`}
                      act={act('operators/remove', { name })}
                      done={`${name} is removed.`}
                    >
                      <p>{name} is signed out at once and cannot come back.</p>
                    </Confirm>
                  </span>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {isOwner && <Invite onInvite={(body) => act('operators', body)()} />}
    </>
  )
}

function Invite({ onInvite }: { onInvite: (body: { name: string; role: Role }) => Promise<void> }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('operator')
  const invite = async () => {
    await onInvite({ name: name.trim(), role })
    setName('')
  }
  return (
    <Card title="Invite somebody">
      <div class="filters">
        <Field label="Name">
          <input
            value={name}
            autocomplete="off"
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </Field>
        <Field label="Role">
          <select value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>
            {ROLES.map(([one, meaning]) => (
              <option key={one} value={one}>
                {one}: {meaning}
              </option>
            ))}
          </select>
        </Field>
        <Act kind="main" disabled={name.trim() === ''} act={invite}>
          Make a link
        </Act>
      </div>
    </Card>
  )
}
