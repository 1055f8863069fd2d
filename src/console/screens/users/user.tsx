import type { ComponentType } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { ApiError } from '../../api.ts'
import { words } from '../../format.ts'
import { canEdit } from '../../operator.ts'
import { go, linkTo, parts } from '../../router.ts'
import { ActionButton } from '../../ui/declared.tsx'
import { Badge, Card, Copy, Details, List, Tabs, Time } from '../../ui/parts.tsx'
import { Loaded, type Remote, useRemote } from '../../ui/remote.tsx'
import { asTime, asTimeAgo, ListBar, Table } from '../../ui/table.tsx'
import { ActiveSubscriptions } from '../purchases/active-subscriptions.tsx'
import { UnknownUser, type UserDetails, UserHeader } from './user-header.tsx'
import { UserNotes } from './user-notes.tsx'

type AccountProps = { details: UserDetails; reload: Remote<UserDetails>['reload'] }

/** The names of rate limits in the user interface. */
const LIMITS: Record<string, string> = {
  'sign-in': 'Sign-in',
  'own-password': 'Password confirmation',
  'two-factor': 'Two-factor codes',
  'two-factor-day': 'Two-factor codes (daily limit)',
  'email-code': 'Sign-in codes',
  'code-mail': 'E-mails with sign-in codes',
  mail: 'Requested e-mails',
}
const ACCOUNT = { path: '', label: 'Account' }

/** A tab of a feature. */
export type UserTab = {
  path: string
  label: string
  Tab: ComponentType<{ id: string; reloadUser: () => Promise<void> }>
}

/** A user's account, and the tabs of the features. */
export function UserScreen({ id, tabs }: { id: string; tabs: UserTab[] }) {
  const details = useRemote<UserDetails>(`people/${encodeSegment(id)}`)
  const [, , current = ''] = parts.value
  const panel = useScrollToTab(current)
  if (details.error instanceof ApiError && details.error.status === 404)
    return <UnknownUser id={id} />
  return (
    <Loaded from={details}>
      {(data) => {
        const { _id } = data.user
        const home = `people/${_id}`
        return (
          <>
            <UserHeader details={data} />
            <Tabs
              label="User"
              isSticky
              tabs={[ACCOUNT, ...tabs].map(({ path, label }) => [
                linkTo(path === '' ? home : `${home}/${path}`),
                label,
                current === path,
              ])}
            />
            <div class="panel" ref={panel}>
              {tabs.map(
                ({ path, Tab }) =>
                  current === path && <Tab key={path} id={_id} reloadUser={details.reload} />,
              )}
              {current === '' && <Account details={data} reload={details.reload} />}
            </div>
          </>
        )
      }}
    </Loaded>
  )
}

/** Keeps the tabs in place when another tab is opened, with the start of its content below them. */
function useScrollToTab(current: string) {
  const panel = useRef<HTMLDivElement>(null)
  const shown = useRef(current)
  useLayoutEffect(() => {
    if (shown.current === current || panel.current === null) return
    shown.current = current
    const belowTabs = Number.parseFloat(getComputedStyle(panel.current).scrollMarginTop)
    if (panel.current.getBoundingClientRect().top < belowTabs) panel.current.scrollIntoView()
  }, [current])
  return panel
}

function Account({ details, reload }: AccountProps) {
  const { user, sessions, identities, passkeys } = details
  const { _id: id, email, profile } = user
  const displayName = profile.name || email || 'this user'
  const shared = { input: { id }, onDone: reload }
  return (
    <>
      <Card title="Account">
        <AccountFacts details={details} />
        <div class="actions">
          {email && !user.emailVerified && (
            <>
              <ActionButton path="people/:id/send-verification" {...shared} />
              <ActionButton path="people/:id/verify" {...shared} />
            </>
          )}
          <ActionButton path="people/:id/export" input={{ id }} />
          {user.twoFactor.enabled && (
            <ActionButton path="people/:id/two-factor/reset" {...shared} target={displayName} />
          )}
        </div>
      </Card>
      <UserNotes userId={id} notes={details.notes} reload={reload} />
      <Card title="Signed-in devices">
        <ListBar noun="device" total={sessions.length} csv={`people/${id}/sessions`} isPersonal />
        <Table
          caption="Signed-in devices"
          rows={sessions}
          keyOf={({ _id: session }) => session}
          order="-used"
          empty="No devices are signed in."
          columns={[
            { name: 'Device', sort: 'device', field: 'device' },
            { name: 'Last used', sort: '-used', field: 'lastUsedAt', format: asTimeAgo },
            { name: 'Signed in', sort: '-signed-in', field: 'createdAt', format: asTime },
            canEdit.value && {
              name: 'Actions',
              kind: 'actions',
              cell: ({ _id: session, device }) => (
                <ActionButton
                  path="people/:id/sessions/:session/end"
                  input={{ id, session }}
                  target={device}
                  onDone={reload}
                />
              ),
            },
          ]}
        />
        {sessions.length > 1 && (
          <div class="actions">
            <ActionButton
              path="people/:id/sign-out"
              {...shared}
              label="Sign out all devices"
              done="Signed out all devices."
            />
          </div>
        )}
      </Card>
      <Card title="Linked accounts">
        <List items={identities} empty="No linked accounts.">
          {(identity) => (
            <li key={identity.provider}>
              <span>{identity.provider}</span>
              <span class="soft">{identity.email ?? ''}</span>
            </li>
          )}
        </List>
      </Card>
      <Card title="Passkeys">
        <List items={passkeys} empty="No passkeys.">
          {({ _id, name, createdAt, lastUsedAt }) => (
            <li key={_id}>
              <span>{name}</span>
              <span class="soft">
                Added <Time at={createdAt} />,{' '}
                {lastUsedAt === null ? (
                  'never used'
                ) : (
                  <>
                    last used <Time at={lastUsedAt} />
                  </>
                )}
              </span>
            </li>
          )}
        </List>
      </Card>
      {canEdit.value && (
        <Card title="Delete account">
          <p class="soft">
            This permanently deletes the profile, files, sessions and all other personal data.
            Billing events are kept without personal data. The export does not contain the files
            themselves: download them from the Files tab first if the user wants them.
          </p>
          <div class="actions">
            <ActionButton
              path="people/:id/delete"
              input={{ id, confirm: email || id }}
              target={`${displayName}’s account`}
              verb="Delete account"
              confirmText={email || id}
              onDone={() => go(linkTo('people'))}
            >
              <ActiveSubscriptions id={id} />
            </ActionButton>
          </div>
        </Card>
      )}
    </>
  )
}

function AccountFacts({ details: { user, account, limits } }: { details: UserDetails }) {
  const { _id: id, email, profile, twoFactor } = user
  const verified = user.emailVerified ? (
    <Badge tone="good">verified</Badge>
  ) : (
    <Badge>unverified</Badge>
  )
  return (
    <>
      <Details
        items={[
          ['E-mail', email || 'None'],
          ['E-mail verified', email ? verified : '–'],
          ['Name', profile.name || '–'],
          [
            'User id',
            <>
              <span class="mono">{id}</span> <Copy text={id} />
            </>,
          ],
          ['Sign-in method', words(user.loginType)],
          [
            'Two-factor',
            twoFactor.enabled ? (
              <>
                On since <Time at={account.twoFactorSince} />
              </>
            ) : (
              'Off'
            ),
          ],
          [
            'Language, currency, time zone',
            `${profile.locale}, ${profile.currency.toUpperCase()}, ${profile.timezone}`,
          ],
          ['Registered', <Time key="at" at={account.createdAt} />],
        ]}
      />
      {limits.map(({ name, until }) => (
        <p class="warn" key={name}>
          {LIMITS[name] ?? name} blocked until <Time at={until} />
        </p>
      ))}
    </>
  )
}
