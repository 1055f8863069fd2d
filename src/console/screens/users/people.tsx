import type { FoundUsers } from '../../../features/users/accounts/directory.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { unnamedUser, words } from '../../format.ts'
import { linkTo, parts, query, readFilters } from '../../router.ts'
import { Badge, List, Time, Title } from '../../ui/parts.tsx'
import { usePages } from '../../ui/remote.tsx'
import { asTimeAgo, type Column, PagedTable } from '../../ui/table.tsx'
import { Breakable } from '../../ui/user-link.tsx'
import { ACCESS, placeName } from '../purchases/labels.ts'
import { hasPurchases, PurchaseLink, useSupportDetails } from '../purchases/parts.tsx'
import { UserScreen, type UserTab } from './user.tsx'
import { USER_FILTERS, UserFilters } from './user-filters.tsx'

type FoundUser = FoundUsers['users'][number]

/** The server's page size. */
const PAGE_SIZE = 50

const SUBSCRIBED: FoundUser['status'][] = ['paying', 'trial', 'billing_issue', 'cancelled']

const columnsFor = (planNames: Record<string, string>): Column<FoundUser>[] => [
  {
    name: 'User',
    cell: ({ id, email, name, emailVerified }) => (
      <>
        <a href={linkTo(`people/${id}`)} title={email || id}>
          <Breakable text={email || unnamedUser(id)} />
        </a>{' '}
        <span class="soft">
          <Breakable
            text={[name, email && !emailVerified && 'unverified'].filter(Boolean).join(', ')}
          />
        </span>
      </>
    ),
  },
  { name: 'Status', onPhone: 'aside', cell: ({ status }) => <AccessBadge status={status} /> },
  {
    name: 'Plan',
    onPhone: 'line',
    cell: ({ plan, status }) =>
      plan === null ? (
        withoutPlan(status)
      ) : (
        <span class="clip" title={planNames[plan] ?? plan}>
          <Breakable text={planNames[plan] ?? plan} />
        </span>
      ),
  },
  { name: 'Last seen', onPhone: 'line', field: 'lastSeenAt', format: (at) => at && asTimeAgo(at) },
  {
    name: 'Platform',
    onPhone: 'omitted',
    cell: ({ platform, country }) =>
      (platform || country) && (
        <span class="clip brief" title={placeName(platform, country)}>
          {placeName(platform, country)}
        </span>
      ),
  },
  {
    name: 'Sign-in',
    onPhone: 'omitted',
    cell: ({ loginType }) => <span class="unbroken">{words(loginType)}</span>,
  },
  { name: 'Registered', onPhone: 'omitted', field: 'createdAt', format: asTimeAgo },
]

/** The user search, or one user. */
export function PeopleScreen({ tabs }: { tabs: UserTab[] }) {
  const [, id] = parts.value
  return id === undefined ? <UserSearch /> : <UserScreen id={id} tabs={tabs} />
}

function UserSearch() {
  const text = query.value.get('q') ?? ''
  const isFiltered = readFilters(USER_FILTERS).search !== ''
  const { planNames = {} } = useSupportDetails() ?? {}
  const pages = usePages(`people${readFilters(['q', ...USER_FILTERS]).search}`, listUsers)
  const { first, rows, next, total } = pages
  const isElsewhere = first.data !== null && (first.data.eventId ?? first.data.unlinkedIds[0])
  return (
    <>
      <Title>{text === '' ? 'People' : `People: ${text}`}</Title>
      <UserFilters total={total} />
      <PagedTable
        caption="Users"
        pages={pages}
        noun="user"
        columns={columnsFor(planNames)}
        empty={isElsewhere ? undefined : <NoUsers text={text} isFiltered={isFiltered} />}
        above={({ eventId }) =>
          eventId !== null && (
            <p>
              This is the id of a billing event.{' '}
              <a href={linkTo(`events/${encodeSegment(eventId)}`)}>Open the event</a>
            </p>
          )
        }
        below={({ users, unlinkedIds, hasMoreNames, scannedTo }) => (
          <>
            {hasMoreNames && (
              <p class="soft">More users match. Enter more of the name or the id.</p>
            )}
            {isFiltered && next !== null && rows.length % PAGE_SIZE !== 0 && (
              <Scanned to={rows.length === users.length ? scannedTo : null} next={next} />
            )}
            {unlinkedIds.length > 0 && <h2>Purchases not linked to an account</h2>}
            <List items={unlinkedIds}>
              {(id) => (
                <li key={id}>
                  <span class="mono">
                    <PurchaseLink id={id} href={linkTo('purchases', { id })} />
                  </span>
                  <a href={linkTo('events', { user: id })}>Events</a>
                </li>
              )}
            </List>
          </>
        )}
      />
    </>
  )
}

function listUsers({ users }: FoundUsers): FoundUser[] {
  return users
}

/** In many apps, most users have never paid, so that status is not emphasized. */
function AccessBadge({ status }: Pick<FoundUser, 'status'>) {
  const [name, tone] = ACCESS[status]
  return status === 'none' ? <span class="soft">{name}</span> : <Badge tone={tone}>{name}</Badge>
}

/** A subscriber should have a plan, unless the app checks entitlements only. */
function withoutPlan(status: FoundUser['status']) {
  return SUBSCRIBED.includes(status) ? <Badge tone="warn">no plan</Badge> : null
}

function NoUsers({ text, isFiltered }: { text: string; isFiltered: boolean }) {
  return (
    <>
      {emptyText(text, isFiltered)}{' '}
      {text !== '' && hasPurchases() && (
        <a href={linkTo('purchases', { id: text })}>Search purchases</a>
      )}
    </>
  )
}

function emptyText(text: string, isFiltered: boolean): string {
  if (isFiltered) return 'No users match these filters.'
  if (text === '')
    return 'No users yet. People appear here once they sign up in your app, or when you import them.'
  return 'No matches. Enter a name, the start of an e-mail address, user id or transaction id, or a full app user id.'
}

/** How far the server has searched, if a page is short. `to`: the last user that it compared. */
function Scanned({ to, next }: { to: FoundUsers['scannedTo']; next: string }) {
  const isBySeen = next.startsWith('seen ')
  const at = isBySeen ? to?.lastSeenAt : to?.createdAt
  return (
    <p class="soft">
      {at ? (
        <>
          Searched back to users {isBySeen ? 'last seen' : 'registered'} <Time at={at} />.
        </>
      ) : (
        'Not all users have been searched.'
      )}{' '}
      Load more to continue the search.
    </p>
  )
}
