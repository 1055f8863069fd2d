import { useEffect, useRef, useState } from 'preact/hooks'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { failure, read } from '../../api.ts'
import { type InputOf, perform, publicUrl } from '../../declared.ts'
import { money, number, plural } from '../../format.ts'
import { canEdit } from '../../operator.ts'
import { linkTo, parts, readFilters } from '../../router.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { type FilterKinds, ListFilters } from '../../ui/filters.tsx'
import { Action, Badge, CopyLine, Time, TimeAgo, Title } from '../../ui/parts.tsx'
import { usePages, useRefresh } from '../../ui/remote.tsx'
import { type Column, PagedTable } from '../../ui/table.tsx'
import { Breakable, UserLink } from '../../ui/user-link.tsx'
import {
  EVENT_TYPES,
  eventName,
  failureReason,
  productName,
  storeName,
  typeFilterName,
} from '../purchases/labels.ts'
import { EventScreen, type FoundEvent } from './event.tsx'

type Names = Record<string, string>
type EventsPage = { events: FoundEvent[]; names: Names; scannedBackTo: string | null }
type Filter = Record<string, string>

const FILTERS: FilterKinds = {
  type: { options: Object.keys(EVENT_TYPES), describe: typeFilterName },
  outcome: { options: ['applied', 'ignored', 'failed'] },
  environment: { options: ['production', 'sandbox'] },
  user: { label: 'App user id' },
  conflicting: { isFlag: true },
  clockIsOff: { label: 'Implausible timestamps', isFlag: true },
}
const NAMES = Object.keys(FILTERS)
/** The server's page size. */
const PAGE_SIZE = 50
const REFRESH_MS = 5_000

/** The billing events, or one of them. */
export function Screen() {
  const [, id] = parts.value
  return id === undefined ? <EventLog /> : <EventScreen id={id} />
}

function NoEvents() {
  return (
    <>
      <p>
        No events yet. Purchases, renewals and refunds appear here as the billing provider and the
        stores report them. Enter this address and the token at the provider, and restart the server
        after setting the token. The addresses for the stores are on{' '}
        <a href={linkTo('stores')}>Stores</a>.
      </p>
      <CopyLine name="URL" text={publicUrl('/api/webhooks/billing/v1')} />
      <CopyLine
        name="new token"
        text={'echo "WEBHOOK_TOKEN=$(openssl rand -hex 32)" >> .env'}
        label="Copy command"
      />
    </>
  )
}

function EventLog() {
  const { filter } = readFilters(NAMES)
  const { search } = readFilters([...NAMES, 'sort'])
  const isFiltered = Object.keys(filter).length > 0
  const pages = usePages(`events${search}`, namedEvents)
  useRefresh(pages.first.reload, REFRESH_MS, search === '')
  return (
    <>
      <Title>Billing events</Title>
      <ListFilters path="events" kinds={FILTERS} />
      <PagedTable
        caption="Billing events"
        pages={pages}
        noun="event"
        bar={
          canEdit.value &&
          isFiltered && <ReplayAll key={search} filter={filter} onDone={pages.reload} />
        }
        columns={COLUMNS}
        order="-received"
        empty={isFiltered ? 'No events match.' : <NoEvents />}
        detail={({ error }) => error && <small class="bad">{failureReason(error)}</small>}
        below={({ scannedBackTo }) =>
          pages.next !== null &&
          pages.rows.length % PAGE_SIZE !== 0 &&
          scannedBackTo && (
            <p class="soft">
              Searched back to <Time at={scannedBackTo} />. There may be more matches.
            </p>
          )
        }
      />
    </>
  )
}

type NamedEvent = FoundEvent & { names: Names }

function namedEvents({ events, names }: EventsPage): NamedEvent[] {
  return events.map((event) => ({ ...event, names }))
}

const COLUMNS: Column<NamedEvent>[] = [
  {
    name: 'Type',
    cell: (event) => (
      <a href={linkTo(`events/${encodeSegment(event.eventId)}`)}>
        <Breakable text={eventName(event)} />
      </a>
    ),
  },
  {
    name: 'User',
    onPhone: 'line',
    cell: ({ appUserId, names }) =>
      appUserId === null ? (
        'no user'
      ) : (
        <UserLink id={appUserId} names={names} tab="/subscription" />
      ),
  },
  {
    name: 'Product',
    onPhone: 'omitted',
    cell: (event) => event.productId && <Breakable text={productName(event)} />,
  },
  { name: 'Price', onPhone: 'line', kind: 'number', cell: ({ price }) => price && money(price) },
  {
    name: 'Store',
    onPhone: 'line',
    cell: ({ store, environment }) => (
      <>
        {store && storeName(store)} {environment === 'SANDBOX' && <Badge>sandbox</Badge>}
      </>
    ),
  },
  { name: 'Outcome', onPhone: 'aside', cell: EventState },
  {
    name: 'Received',
    onPhone: 'line',
    sort: '-received',
    cell: ({ receivedAt }) => <TimeAgo at={receivedAt} />,
  },
]

function EventState({ outcome, conflicting, clockIsOff, duplicates }: FoundEvent) {
  return (
    <>
      {outcome === 'applied' ? (
        outcome
      ) : (
        <Badge tone={outcome === 'failed' ? 'bad' : 'plain'}>{outcome}</Badge>
      )}{' '}
      {conflicting && <Badge tone="warn">conflicting</Badge>}{' '}
      {clockIsOff && <Badge tone="warn">implausible timestamps</Badge>}{' '}
      {duplicates > 0 && <Badge>received {duplicates + 1} times</Badge>}
    </>
  )
}

type EventCount = { count: number; isComplete: boolean }
type ReplayProgress = { done: number; failed: number }

/** Replays all events that match the filters, after showing how many there are. */
function ReplayAll({ filter, onDone }: { filter: Filter; onDone: () => Promise<void> }) {
  const [matches, setMatches] = useState<EventCount | null>(null)
  const [progress, setProgress] = useState<ReplayProgress | null>(null)
  const stop = useRef(new AbortController())
  const query = new URLSearchParams(filter).toString()
  useEffect(() => () => stop.current.abort(), [])
  const ask = async () => {
    const counted = await read<EventCount>(`event-count?${query}`)
    if (counted.count === 0) throw failure('No events match.')
    setMatches(counted)
  }
  const replay = async () => {
    stop.current = new AbortController()
    const { signal } = stop.current
    let last: ReplayProgress = { done: 0, failed: 0 }
    const onProgress = (next: ReplayProgress) => {
      last = next
      setProgress(next)
    }
    onProgress(last)
    try {
      const matching = filter as InputOf<'events/replay'>
      const result = await perform('events/replay', matching, { onProgress, signal })
      return `Replayed ${describe(result)}.`
    } catch (error) {
      if (!signal.aborted) throw error
      return `Stopped after ${describe(last)}.`
    } finally {
      setProgress(null)
      setMatches(null)
      await onDone()
    }
  }
  const close = () => {
    stop.current.abort()
    setMatches(null)
  }
  return (
    <>
      <Action kind="quiet" run={ask}>
        Replay all matches
      </Action>
      {matches && (
        <Dialog title={`Replay ${nameCount(matches)}?`} onClose={close}>
          {progress === null ? (
            <p>
              Homeport applies each event again. The order does not matter. This can give or remove
              access immediately. You can stop at any time.
            </p>
          ) : (
            <>
              <progress value={progress.done} max={matches.count} aria-label="Replayed events" />
              <p role="status">
                {number(progress.done)} of {number(matches.count)} replayed,{' '}
                {number(progress.failed)} failed
              </p>
            </>
          )}
          <div class="actions end">
            <button type="button" onClick={close}>
              {progress === null ? 'Cancel' : 'Stop'}
            </button>
            <Action kind="primary" run={replay}>
              Replay {nameCount(matches)}
            </Action>
          </div>
        </Dialog>
      )}
    </>
  )
}

/** `8,000 events`, or `at least 10,000 events`. */
function nameCount({ count, isComplete }: EventCount): string {
  return isComplete ? plural(count, 'event') : `at least ${plural(count, 'event')}`
}

/** `4 events, none failed`. */
function describe({ done, failed }: ReplayProgress): string {
  return `${plural(done, 'event')}, ${failed === 0 ? 'none' : number(failed)} failed`
}
