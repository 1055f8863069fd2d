import type { Profile } from '../../features/users/profile/service.ts'
import type { Users } from '../../features/users/users.ts'
import { encodeSegment } from '../../lib/path-segment.ts'
import { download, type ReplyOf, send } from '../api.ts'
import { canEdit } from '../operator.ts'
import { linkTo, parts } from '../router.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Action, Badge, Card, Copy, Facts, List, Tabs, Time, TimeAgo, Title } from '../ui/parts.tsx'
import { Loaded, type Remote, useRemote } from '../ui/remote.tsx'
import { TimelineScreen } from './timeline.tsx'
import { UserFiles } from './user-files.tsx'

type UserDetails = {
  user: ReplyOf<Profile['read']>
  account: ReplyOf<Users['accounts']['describe']>
  identities: ReplyOf<Users['identities']['list']>
  sessions: ReplyOf<Users['devices']['list']>
  limits: { name: string; until: string }[]
}
type AccountProps = { details: UserDetails; reload: Remote<UserDetails>['reload'] }

const TABS: [path: string, name: string][] = [
  ['', 'Account'],
  ['subscription', 'Subscription'],
  ['files', 'Files'],
]

/** A user's account, purchases and files. */
export function UserScreen({ id }: { id: string }) {
  const details = useRemote<UserDetails>(`people/${encodeSegment(id)}`)
  const [, , current = ''] = parts.value
  return (
    <Loaded from={details}>
      {(data) => {
        const { _id, email, profile } = data.user
        const home = `people/${_id}`
        return (
          <>
            <Title>{profile.name || email || 'Guest'}</Title>
            <Tabs
              label="About this person"
              tabs={TABS.map(([path, name]) => [
                linkTo(path === '' ? home : `${home}/${path}`),
                name,
                current === path,
              ])}
            />
            {current === 'subscription' && <TimelineScreen id={_id} />}
            {current === 'files' && <UserFiles id={_id} />}
            {current === '' && <Account details={data} reload={details.reload} />}
          </>
        )
      }}
    </Loaded>
  )
}

function Account({ details, reload }: AccountProps) {
  const { user, sessions, identities } = details
  const { _id: id, email, profile } = user
  const displayName = profile.name || email || 'this guest'
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
                <Action run={sendAndReload('send-verification')} done="The mail is on its way.">
                  Send the verification mail
                </Action>
                <Action run={sendAndReload('verify')} done="The address is verified.">
                  Mark the address as verified
                </Action>
              </>
            )}
            <Action run={() => download(`people/${id}/export`)}>Export all data</Action>
            {user.twoFactor.enabled && (
              <Confirm
                label={`Reset ${displayName}’s two-factor`}
                run={sendAndReload('two-factor/reset')}
                done="Two-factor is off, and all devices are signed out."
              >
                <p>
                  Two-factor is switched off and every device is signed out. Be sure that it is{' '}
                  {displayName} who asks.
                </p>
              </Confirm>
            )}
          </div>
        )}
      </Card>
      <Card title="Signed-in devices">
        <List items={sessions} empty="No device is signed in.">
          {({ _id: session, device, createdAt, lastUsedAt }) => (
            <li key={session}>
              <span>{device}</span>
              <span class="soft">
                last used <TimeAgo at={lastUsedAt} />, since <Time at={createdAt} />
              </span>
              {canEdit.value && (
                <span class="actions">
                  <Action
                    run={sendAndReload(`sessions/${session}/end`)}
                    done={`${device} is signed out.`}
                  >
                    Sign out {device}
                  </Action>
                </span>
              )}
            </li>
          )}
        </List>
        {canEdit.value && sessions.length > 1 && (
          <div class="actions">
            <Action run={sendAndReload('sign-out')} done="All devices are signed out.">
              Sign out all {sessions.length} devices
            </Action>
          </div>
        )}
      </Card>
      <Card title="Linked providers">
        <List items={identities} empty="None.">
          {(identity) => (
            <li key={identity.provider}>
              <span>{identity.provider}</span>
              <span class="soft">{identity.email ?? ''}</span>
            </li>
          )}
        </List>
      </Card>
      {canEdit.value && (
        <Card title="Delete">
          <p class="soft">
            Profile, files, sessions and everything that names the person go for good. Billing
            events stay without the person.
          </p>
          <div class="actions">
            <Confirm
              label={`Delete ${displayName}’s account`}
              typed={email || id}
              done={`${displayName}’s account is deleted.`}
              run={async () => {
                await send(`people/${id}/delete`, { confirm: email || id })
                location.assign(linkTo('people'))
              }}
            >
              <p>This cannot be undone.</p>
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
    <Badge tone="warn">unverified</Badge>
  )
  const since = account.twoFactorSince?.slice(0, 10)
  return (
    <>
      <Facts
        items={[
          ['E-mail', email || 'none (guest)'],
          ['E-mail verified', email ? verified : '–'],
          ['Name', profile.name || '–'],
          [
            'Id',
            <>
              <span class="mono">{id}</span> <Copy text={id} />
            </>,
          ],
          ['Signs in by', user.loginType],
          ['Two-factor', twoFactor.enabled ? `on since ${since}` : 'off'],
          [
            'Language, currency, time zone',
            `${profile.locale}, ${profile.currency}, ${profile.timezone}`,
          ],
          ['Registered', <Time key="at" at={account.createdAt} />],
        ]}
      />
      {limits.map(({ name, until }) => (
        <p class="warn" key={name}>
          Limited: {name}, until <Time at={until} />
        </p>
      ))}
    </>
  )
}
