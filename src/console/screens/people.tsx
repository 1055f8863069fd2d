import type { FoundUsers } from '../../features/users/accounts/directory.ts'
import { encodeSegment } from '../../lib/path-segment.ts'
import { linkTo, parts, query } from '../router.ts'
import { Action, Badge, Empty, List, TimeAgo, Title } from '../ui/parts.tsx'
import { Loaded, usePages } from '../ui/remote.tsx'
import { UserScreen } from './user.tsx'

/** The user search, or one user. */
export function PeopleScreen() {
  const [, id] = parts.value
  return id === undefined ? <UserSearch /> : <UserScreen id={id} />
}

function UserSearch() {
  const text = query.value.get('q') ?? ''
  const path = `people?q=${encodeURIComponent(text)}`
  const { first, rows, next, loadMore } = usePages(path, (page: FoundUsers) => page.users)
  return (
    <>
      <Title>{text === '' ? 'People' : `People: ${text}`}</Title>
      <Loaded from={first}>
        {({ strangers, eventId, hasMoreNames }) => (
          <>
            {eventId !== null && (
              <p>
                This is the id of a billing event.{' '}
                <a href={linkTo(`events/${encodeSegment(eventId)}`)}>Open the event</a>
              </p>
            )}
            {rows.length === 0 && strangers.length === 0 && eventId === null && (
              <Empty>
                {text === ''
                  ? 'No users yet.'
                  : 'No matches. Enter a name, the start of an e-mail address, user id or transaction id, or a full app user id.'}
              </Empty>
            )}
            <List items={rows}>
              {({ id, email, name, loginType, emailVerified, createdAt }) => (
                <li key={id}>
                  <a href={linkTo(`people/${id}`)}>{email || `Guest ${id}`}</a>
                  {name && <span>{name}</span>}
                  {email && !emailVerified && <Badge tone="warn">unverified</Badge>}
                  <Badge>{loginType}</Badge>
                  <span class="soft">
                    registered <TimeAgo at={createdAt} />
                  </span>
                </li>
              )}
            </List>
            {hasMoreNames && (
              <p class="soft">More users have such a name. Enter another word of it.</p>
            )}
            {strangers.length > 0 && <h2>Purchases not linked to an account</h2>}
            <List items={strangers}>
              {(id) => (
                <li key={id}>
                  <a class="mono" href={linkTo('events', { user: id })}>
                    {id}
                  </a>
                  <a href={linkTo('purchases', { id })}>Purchases to link</a>
                </li>
              )}
            </List>
            {next !== null && <Action run={loadMore}>Load more</Action>}
          </>
        )}
      </Loaded>
    </>
  )
}
