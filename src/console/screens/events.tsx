import { useEffect, useRef, useState } from 'preact/hooks'
import type { EventSearch } from '../../features/billing/inbox/event-search.ts'
import { encodeSegment } from '../../lib/path-segment.ts'
import { type ReplyOf, sendWithProgress } from '../api.ts'
import { number } from '../format.ts'
import { canEdit } from '../operator.ts'
import { filtersIn, go, linkTo, parts } from '../router.ts'
import { Checkbox, Field, SelectField } from '../ui/fields.tsx'
import { showMessage } from '../ui/messages.tsx'
import { Action, Badge, List, Time, TimeAgo, Title } from '../ui/parts.tsx'
import { Loaded, usePages } from '../ui/remote.tsx'
import { EventScreen, type FoundEvent } from './event.tsx'

type EventsPage = ReplyOf<EventSearch['find']>
type Filter = Record<string, string>

/** The documented types; the billing provider may send others. */
const TYPES = [
  'INITIAL_PURCHASE',
  'RENEWAL',
  'CANCELLATION',
  'UNCANCELLATION',
  'EXPIRATION',
  'BILLING_ISSUE',
  'PRODUCT_CHANGE',
  'REFUND',
  'REFUND_REVERSED',
  'SUBSCRIPTION_PAUSED',
  'SUBSCRIPTION_EXTENDED',
  'NON_RENEWING_PURCHASE',
  'TEMPORARY_ENTITLEMENT_GRANT',
  'TRANSFER',
  'SUBSCRIBER_ALIAS',
  'PURCHASE_REDEEMED',
  'HOMEPORT_RECONCILED',
  'TEST',
]
const FILTERS = ['type', 'outcome', 'environment', 'user', 'conflicting', 'clockIsOff']
const REFRESH_MS = 5_000

/** The billing events, or one of them. */
export function EventsScreen() {
  const [, id] = parts.value
  return id === undefined ? <EventLog /> : <EventScreen id={id} />
}

function EventLog() {
  const { filter, search } = filtersIn(FILTERS)
  const isFiltered = search !== ''
  const { first, rows, next, loadMore } = usePages(
    `events${search}`,
    (page: EventsPage) => page.events,
  )
  useEffect(() => {
    if (isFiltered) return
    const timer = setInterval(() => !document.hidden && void first.reload(), REFRESH_MS)
    return () => clearInterval(timer)
  }, [search])
  return (
    <>
      <Title>Billing events</Title>
      <Filters filter={filter} />
      {canEdit.value && isFiltered && <ReplayAll filter={filter} onDone={first.reload} />}
      <Loaded from={first}>
        {({ scannedBackTo }) => (
          <>
            {(rows.length > 0 || next === null) && (
              <List items={rows} empty={isFiltered ? 'No events match.' : 'No events yet.'}>
                {(event) => <EventRow key={event.id} event={event} />}
              </List>
            )}
            {next !== null && rows.length % 50 !== 0 && scannedBackTo && (
              <p class="soft">
                Searched back to <Time at={scannedBackTo} />. Older events may match too.
              </p>
            )}
            {next !== null && <Action run={loadMore}>Load older</Action>}
          </>
        )}
      </Loaded>
    </>
  )
}

function EventRow({ event }: { event: FoundEvent }) {
  const { eventId, type, outcome, error, environment, appUserId, receivedAt } = event
  return (
    <li>
      <a href={linkTo(`events/${encodeSegment(eventId)}`)}>{type}</a>
      {outcome !== 'applied' && (
        <Badge tone={outcome === 'failed' ? 'bad' : 'plain'}>{outcome}</Badge>
      )}
      {environment === 'SANDBOX' && <Badge>sandbox</Badge>}
      {event.conflicting && <Badge tone="warn">conflicting</Badge>}
      {event.clockIsOff && <Badge tone="warn">implausible timestamps</Badge>}
      {event.duplicates > 0 && <Badge>received {event.duplicates + 1} times</Badge>}
      <span class="soft mono">{appUserId ?? 'no user'}</span>
      <span class="soft">
        <TimeAgo at={receivedAt} />
      </span>
      {error && <small class="bad">{error}</small>}
    </li>
  )
}

function Filters({ filter }: { filter: Filter }) {
  const set = (name: string, value: string) => go(linkTo('events', { ...filter, [name]: value }))
  const choice = (name: string, label: string, options: string[]) => {
    const value = filter[name] ?? ''
    const all = [...new Set([...options, ...(value ? [value] : [])])]
    return (
      <SelectField
        label={label}
        value={value}
        options={[['', 'Any'], ...all.map((option): [string, string] => [option, option])]}
        onChange={(chosen) => set(name, chosen)}
      />
    )
  }
  const flag = (name: string, label: string) => (
    <Checkbox
      label={label}
      checked={filter[name] === 'true'}
      onChange={(checked) => set(name, checked ? 'true' : '')}
    />
  )
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      {choice('type', 'Type', TYPES)}
      {choice('outcome', 'Outcome', ['applied', 'ignored', 'failed'])}
      {choice('environment', 'Environment', ['production', 'sandbox'])}
      <Field label="App user id">
        <input
          key={filter['user'] ?? ''}
          defaultValue={filter['user'] ?? ''}
          onChange={(event) => set('user', event.currentTarget.value.trim())}
        />
      </Field>
      {flag('conflicting', 'Conflicting')}
      {flag('clockIsOff', 'Implausible timestamps')}
    </form>
  )
}

type ReplayProgress = { done: number; failed: number }

/** Replays all events that match the filters. */
function ReplayAll({ filter, onDone }: { filter: Filter; onDone: () => Promise<void> }) {
  const [progress, setProgress] = useState<ReplayProgress | null>(null)
  const stop = useRef(new AbortController())
  const run = async () => {
    stop.current = new AbortController()
    const { signal } = stop.current
    setProgress({ done: 0, failed: 0 })
    try {
      const { done, failed } = await sendWithProgress<ReplayProgress, ReplayProgress>(
        'events/replay',
        filter,
        setProgress,
        signal,
      )
      showMessage(
        `Replayed ${number(done)}, ${number(failed) === '0' ? 'none' : number(failed)} failed.`,
      )
    } catch (error) {
      if (!signal.aborted) throw error
      showMessage('Stopped.')
    } finally {
      setProgress(null)
      await onDone()
    }
  }
  return (
    <div class="actions">
      <Action run={run}>Replay all matches</Action>
      {progress && (
        <>
          <span role="status">
            {number(progress.done)} replayed, {number(progress.failed)} failed
          </span>
          <button type="button" onClick={() => stop.current.abort()}>
            Stop
          </button>
        </>
      )}
    </div>
  )
}
