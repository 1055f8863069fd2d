import { encodeSegment } from '../../lib/path-segment.ts'
import { linkTo, parts, query } from '../router.ts'
import type { Me, PeoplePage } from '../types.ts'
import { Act, Ago, Badge, Empty, Title } from '../ui/parts.tsx'
import { Loaded, usePages } from '../ui/remote.tsx'
import { PersonScreen } from './person.tsx'

/** People as they are found, or one of them. */
export function PeopleScreen({ me }: { me: Me }) {
  const [, id] = parts.value
  return id === undefined ? <PeopleList /> : <PersonScreen id={id} me={me} />
}

function PeopleList() {
  const text = query.value.get('q') ?? ''
  const path = `people?q=${encodeURIComponent(text)}`
  const { first, rows, next, loadMore } = usePages(path, (page: PeoplePage) => page.users)
  return (
    <>
      <Title>{text === '' ? 'People' : `People: ${text}`}</Title>
      <Loaded from={first}>
        {({ strangers, eventId }) => (
          <>
            {eventId !== null && (
              <p>
                This is the id of a billing event:{' '}
                <a href={linkTo(`events/${encodeSegment(eventId)}`)}>open it</a>
              </p>
            )}
            {rows.length === 0 && strangers.length === 0 && eventId === null && (
              <Empty>
                {text === ''
                  ? 'Nobody has registered yet.'
                  : 'Nobody is found. Type the beginning of an e-mail address, a whole id, or the beginning of a transaction id.'}
              </Empty>
            )}
            {rows.length > 0 && (
              <ul class="list">
                {rows.map(({ id, email, name, loginType, emailVerified, createdAt }) => (
                  <li key={id}>
                    <a href={linkTo(`people/${id}`)}>{email || `Guest ${id}`}</a>
                    {name && <span>{name}</span>}
                    {email && !emailVerified && <Badge tone="warn">unverified</Badge>}
                    <Badge>{loginType}</Badge>
                    <span class="soft">
                      registered <Ago at={createdAt} />
                    </span>
                  </li>
                ))}
              </ul>
            )}
            {strangers.length > 0 && <Strangers ids={strangers} />}
            {next !== null && <Act act={loadMore}>More</Act>}
          </>
        )}
      </Loaded>
    </>
  )
}

/** Whom events name, and who is nobody of ours: an anonymous customer, or somebody who is deleted. */
function Strangers({ ids }: { ids: string[] }) {
  return (
    <>
      <h2>App user ids without a person</h2>
      <ul class="list">
        {ids.map((id) => (
          <li key={id}>
            <a class="mono" href={linkTo('events', { user: id })}>
              {id}
            </a>
            <span class="soft">named by billing events</span>
          </li>
        ))}
      </ul>
    </>
  )
}
