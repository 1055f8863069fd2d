import { useState } from 'preact/hooks'
import type { Operators } from '../../../features/operators/operators.ts'
import type { ReplyOf } from '../../api.ts'
import { mayPerform } from '../../declared.ts'
import { plural } from '../../format.ts'
import { me } from '../../operator.ts'
import { ActionButton, ActionForm } from '../../ui/declared.tsx'
import { Badge, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { asTimeAgo, ListBar, Table } from '../../ui/table.tsx'
import { Breakable } from '../../ui/user-link.tsx'
import { OneTimeSecret } from './one-time-secret.tsx'

type OperatorList = ReplyOf<Operators['accounts']['list']>

type Invitation = { name: string; link: string }

export function Screen() {
  const operators = useRemote<OperatorList>('operators')
  const [invitation, setInvitation] = useState<Invitation | null>(null)
  const isOwner = mayPerform('operators')
  const showLink = async (next: Invitation) => {
    setInvitation(next)
    await operators.reload()
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
          again. If it expires, reset their sign-in to get a new one.
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
                { name: 'Role', onPhone: 'aside', sort: 'role', field: 'role' },
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
                { name: 'Added', sort: '-added', field: 'createdAt', format: asTimeAgo },
                isOwner && {
                  name: 'Actions',
                  kind: 'actions',
                  cell: ({ name, role }) => (
                    <details class="manage">
                      <summary class="button" aria-label={`Manage ${name}`}>
                        Manage
                      </summary>
                      <div class="actions">
                        <ActionButton
                          path="operators/role"
                          input={{ name }}
                          asks={['role']}
                          initial={{ role }}
                          target={name}
                          isShort
                          onDone={async ({ role: next }) => {
                            await operators.reload()
                            if (me.value?.name === name) me.value = { ...me.value, role: next }
                            return `${name}’s role is now ${next}.`
                          }}
                        >
                          {name === me.value?.name && (
                            <p>This changes your own role. Only another owner can restore it.</p>
                          )}
                        </ActionButton>
                        {name !== me.value?.name && (
                          <ActionButton
                            path="operators/reset"
                            input={{ name }}
                            target={name}
                            isShort
                            isSecondary
                            onDone={showLink}
                          />
                        )}
                        <ActionButton
                          path="operators/remove"
                          input={{ name }}
                          target={name}
                          isShort
                          onDone={operators.reload}
                        />
                      </div>
                    </details>
                  ),
                },
              ]}
            />
          </>
        )}
      </Loaded>
      <ActionForm
        path="operators"
        title="Invite an operator"
        screen="operators"
        onDone={showLink}
      />
    </>
  )
}
