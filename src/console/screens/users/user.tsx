import { useLayoutEffect, useRef } from 'preact/hooks'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { ApiError, download, send } from '../../api.ts'
import { words } from '../../format.ts'
import { canEdit } from '../../operator.ts'
import { go, linkTo, parts } from '../../router.ts'
import { Confirm } from '../../ui/dialog.tsx'
import { Action, Badge, Card, Copy, Details, List, Tabs, Time, TimeAgo } from '../../ui/parts.tsx'
import { Loaded, type Remote, useRemote } from '../../ui/remote.tsx'
import { ListBar, Table } from '../../ui/table.tsx'
import { ActiveSubscriptions } from '../purchases/active-subscriptions.tsx'
import { TimelineScreen } from '../purchases/user-timeline.tsx'
import { UserUsage } from '../system/usage.tsx'
import { UserData } from './user-data.tsx'
import { UserFiles } from './user-files.tsx'
import { UnknownUser, type UserDetails, UserHeader } from './user-header.tsx'
import { UserNotes } from './user-notes.tsx'

type AccountProps = { details: UserDetails; reload: Remote<UserDetails>['reload'] }

/** The names of rate limits in the user interface. */
const LIMITS: Record<string, string> = {
  'sign-in': 'Sign-in',
  'own-password': 'Password confirmation',
  'two-factor': 'Two-factor codes',
  'two-factor-day': 'Two-factor codes in a day',
  'email-code': 'Sign-in codes',
  'code-mail': 'E-mails with sign-in codes',
  mail: 'Requested e-mails',
}
const TABS: [path: string, name: string][] = [
  ['', 'Account'],
  ['subscription', 'Subscription'],
  ['usage', 'Usage'],
  ['files', 'Files'],
  ['data', 'Data'],
]

/** A user's account, purchases and files. */
export function UserScreen({ id }: { id: string }) {
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
              tabs={TABS.map(([path, name]) => [
                linkTo(path === '' ? home : `${home}/${path}`),
                name,
                current === path,
              ])}
            />
            <div class="panel" ref={panel}>
              {current === 'subscription' && (
                <TimelineScreen id={_id} reloadUser={details.reload} />
              )}
              {current === 'usage' && <UserUsage id={_id} />}
              {current === 'files' && <UserFiles id={_id} />}
              {current === 'data' && <UserData id={_id} />}
              {current === '' && <Account details={data} reload={details.reload} />}
            </div>
          </>
        )
      }}
    </Loaded>
  )
}

/** Keeps the tabs in place when another one is opened, with the start of its content below them. */
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
  const sendAndReload = (path: string) => async () => {
    await send(`people/${id}/${path}`)
    await reload()
  }
  return (
    <>
      <Card title="Account">
        <AccountFacts details={details} />
        {canEdit.value && (
          <div class="actions">
            {email && !user.emailVerified && (
              <>
                <Action run={sendAndReload('send-verification')} done="Verification e-mail queued.">
                  Send verification e-mail
                </Action>
                <Action run={sendAndReload('verify')} done="E-mail marked as verified.">
                  Mark e-mail verified
                </Action>
              </>
            )}
            <Action run={() => download(`people/${id}/export`)}>Export all data</Action>
            {user.twoFactor.enabled && (
              <Confirm
                label={`Reset two-factor for ${displayName}`}
                verb="Reset two-factor"
                run={sendAndReload('two-factor/reset')}
                done="Two-factor is off and all devices are signed out."
              >
                <p>
                  This turns off two-factor authentication and signs out every device. Confirm that{' '}
                  {displayName} requested this.
                </p>
              </Confirm>
            )}
          </div>
        )}
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
            {
              name: 'Device',
              sort: 'device',
              value: ({ device }) => device,
              cell: ({ device }) => device,
            },
            {
              name: 'Last used',
              sort: '-used',
              value: ({ lastUsedAt }) => lastUsedAt,
              cell: ({ lastUsedAt }) => <TimeAgo at={lastUsedAt} />,
            },
            {
              name: 'Signed in',
              sort: '-signed-in',
              value: ({ createdAt }) => createdAt,
              cell: ({ createdAt }) => <Time at={createdAt} />,
            },
            canEdit.value && {
              name: 'Actions',
              kind: 'actions',
              cell: ({ _id: session, device }) => (
                <Action
                  run={sendAndReload(`sessions/${session}/end`)}
                  done={`Signed out ${device}.`}
                >
                  Sign out {device}
                </Action>
              ),
            },
          ]}
        />
        {canEdit.value && sessions.length > 1 && (
          <div class="actions">
            <Confirm
              label={`Sign out all ${sessions.length} devices`}
              run={sendAndReload('sign-out')}
              done="Signed out all devices."
            >
              <p>{displayName} has to sign in again on each of them.</p>
            </Confirm>
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
            <Confirm
              label={`Delete ${displayName}’s account`}
              verb="Delete account"
              confirmText={email || id}
              done={`Deleted ${displayName}’s account.`}
              run={async () => {
                await send(`people/${id}/delete`, { confirm: email || id })
                go(linkTo('people'))
              }}
            >
              <p>This cannot be undone.</p>
              <ActiveSubscriptions id={id} />
            </Confirm>
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
