import type { ComponentChildren } from 'preact'
import { encodeSegment } from '../../lib/path-segment.ts'
import { download, send } from '../api.ts'
import { linkTo, parts } from '../router.ts'
import type { Me, Person } from '../types.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Act, Ago, At, Badge, Card, Copy, Empty, Facts, Title } from '../ui/parts.tsx'
import { Loaded, type Remote, useRemote } from '../ui/remote.tsx'
import { PersonFiles } from './person-files.tsx'
import { TimelineScreen } from './timeline.tsx'

const TABS: [path: string, name: string][] = [
  ['', 'Account'],
  ['subscription', 'Subscription'],
  ['files', 'Files'],
]

/** Somebody: the account, what was paid, what is stored. */
export function PersonScreen({ id, me }: { id: string; me: Me }) {
  const person = useRemote<Person>(`people/${encodeSegment(id)}`)
  const [, , tab = ''] = parts.value
  return (
    <Loaded from={person}>
      {(data) => {
        const { _id, email, profile } = data.user
        return (
          <>
            <Title>{profile.name || email || 'Guest'}</Title>
            <nav class="tabs" aria-label="About this person">
              {TABS.map(([path, name]) => (
                <a
                  key={path}
                  href={linkTo(path === '' ? `people/${_id}` : `people/${_id}/${path}`)}
                  aria-current={tab === path ? 'page' : undefined}
                >
                  {name}
                </a>
              ))}
            </nav>
            {tab === 'subscription' && <TimelineScreen id={_id} me={me} />}
            {tab === 'files' && <PersonFiles id={_id} me={me} />}
            {tab === '' && <Account person={data} remote={person} me={me} />}
          </>
        )
      }}
    </Loaded>
  )
}

function Account({ person, remote, me }: { person: Person; remote: Remote<Person>; me: Me }) {
  const { user, account, identities, sessions, limits } = person
  const { _id: id, email, profile } = user
  const mayChange = me.role !== 'reader'
  const act = (path: string) => async () => {
    await send(`people/${id}/${path}`)
    await remote.reload()
  }
  const called = profile.name || email || 'this guest'
  return (
    <>
      <Card title="Account">
        <Facts
          of={[
            ['E-mail', email || 'none (guest)'],
            ['E-mail verified', verified(user.emailVerified, email)],
            ['Name', profile.name || '–'],
            [
              'Id',
              <>
                <span class="mono">{id}</span> <Copy text={id} />
              </>,
            ],
            ['Signs in by', user.loginType],
            [
              'Two-factor',
              user.twoFactor.enabled ? `on since ${account.twoFactorSince?.slice(0, 10)}` : 'off',
            ],
            [
              'Language, currency, time zone',
              `${profile.locale}, ${profile.currency}, ${profile.timezone}`,
            ],
            ['Registered', <At key="at" at={account.createdAt} />],
          ]}
        />
        {limits.map(({ name, until }) => (
          <p class="warn" key={name}>
            Limited: {name}, until <At at={until} />
          </p>
        ))}
        {mayChange && (
          <div class="actions">
            {email && !user.emailVerified && (
              <>
                <Act act={act('send-verification')} done="The mail is on its way.">
                  Send the verification mail
                </Act>
                <Act act={act('verify')} done="The address is verified.">
                  Mark the address as verified
                </Act>
              </>
            )}
            <Act act={() => download(`people/${id}/export`)}>Export all data</Act>
            {user.twoFactor.enabled && (
              <Confirm
                label={`Reset ${called}’s two-factor`}
                act={act('two-factor/reset')}
                done="Two-factor is off, and all devices are signed out."
              >
                <p>
                  Two-factor is switched off and every device is signed out. Be sure that it is{' '}
                  {called} who asks.
                </p>
              </Confirm>
            )}
          </div>
        )}
      </Card>
      <Card title="Signed-in devices">
        {sessions.length === 0 && <Empty>No device is signed in.</Empty>}
        <ul class="list">
          {sessions.map(({ _id: session, device, createdAt, lastUsedAt }) => (
            <li key={session}>
              <span>{device}</span>
              <span class="soft">
                last used <Ago at={lastUsedAt} />, since <At at={createdAt} />
              </span>
              {mayChange && (
                <span class="actions">
                  <Act act={act(`sessions/${session}/end`)} done={`${device} is signed out.`}>
                    Sign out {device}
                  </Act>
                </span>
              )}
            </li>
          ))}
        </ul>
        {mayChange && sessions.length > 1 && (
          <div class="actions">
            <Act act={act('sign-out')} done="All devices are signed out.">
              Sign out all {sessions.length} devices
            </Act>
          </div>
        )}
      </Card>
      <Card title="Linked providers">
        {identities.length === 0 ? (
          <Empty>None.</Empty>
        ) : (
          <ul class="list">
            {identities.map((identity) => (
              <li key={identity.provider}>
                <span>{identity.provider}</span>
                <span class="soft">{identity.email ?? ''}</span>
              </li>
            ))}
          </ul>
        )}
      </Card>
      {mayChange && (
        <Card title="Delete">
          <p class="soft">
            Profile, files, sessions and everything that names the person go for good. Billing
            events stay without the person.
          </p>
          <div class="actions">
            <Confirm
              label={`Delete ${called}’s account`}
              typed={email || id}
              done={`${called}’s account is deleted.`}
              act={async () => {
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

function verified(isVerified: boolean, email: string): ComponentChildren {
  if (!email) return '–'
  return isVerified ? <Badge tone="good">verified</Badge> : <Badge tone="warn">unverified</Badge>
}
