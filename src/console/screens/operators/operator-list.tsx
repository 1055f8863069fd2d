import { useState } from 'preact/hooks'
import type { Operators } from '../../../features/operators/operators.ts'
import { ROLES, type Role } from '../../../lib/roles.ts'
import type { ReplyOf } from '../../api.ts'
import { mayPerform } from '../../declared.ts'
import { plural, words } from '../../format.ts'
import { me } from '../../operator.ts'
import { ActionButton, ActionForm } from '../../ui/declared.tsx'
import { SelectField } from '../../ui/fields.tsx'
import { Badge, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { asTimeAgo, ListBar, Table } from '../../ui/table.tsx'
import { Breakable } from '../../ui/user-link.tsx'
import { OneTimeSecret } from './one-time-secret.tsx'

type OperatorList = ReplyOf<Operators['accounts']['list']>

type Invitation = { name: string; link: string }

const ROLE_RIGHTS: Record<Role, string> = {
  reader: 'Readers can view everything but cannot make changes.',
  operator: 'Operators view everything and make changes, but do not manage operators.',
  owner: 'Owners can do everything, including managing operators.',
}
const ROLE_OPTIONS = ROLES.map((role): [value: string, name: string] => [role, words(role)])

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
                      <RoleChange name={name} role={role as Role} reload={operators.reload} />
                      <div class="actions">
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
      <ActionForm path="operators" title="Invite an operator" screen="operators" onDone={showLink}>
        <p class="soft">
          Readers view everything, operators also make changes, and owners also manage operators.
        </p>
      </ActionForm>
    </>
  )
}

type RoleChangeProps = { name: string; role: Role; reload: () => Promise<void> }

function RoleChange({ name, role, reload }: RoleChangeProps) {
  const [chosen, setChosen] = useState(role)
  const isOwn = name === me.value?.name
  return (
    <>
      <SelectField
        label={`Role of ${name}`}
        value={chosen}
        options={ROLE_OPTIONS}
        onChange={(next) => setChosen(next as Role)}
      />
      {chosen !== role && (
        <ActionButton
          path="operators/role"
          input={{ name, role: chosen }}
          label={`Change ${name}’s role to ${chosen}`}
          shortLabel="Change role"
          done={`${name}’s role is now ${chosen}.`}
          onDone={async () => {
            await reload()
            if (me.value && isOwn) me.value = { ...me.value, role: chosen }
          }}
        >
          <p>{ROLE_RIGHTS[chosen]}</p>
          {isOwn && <p>This changes your own role. Only another owner can restore it.</p>}
        </ActionButton>
      )}
    </>
  )
}
