import { useEffect, useRef, useState } from 'preact/hooks'
import type { EventSearch } from '../../features/billing/inbox/event-search.ts'
import { encodeSegment } from '../../lib/path-segment.ts'
import { failure, type ReplyOf, read, sendWithProgress } from '../api.ts'
import { number, plural } from '../format.ts'
import { canEdit } from '../operator.ts'
import { filtersIn, go, linkTo, parts } from '../router.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Checkbox, Field, SelectField } from '../ui/fields.tsx'
import { Filters } from '../ui/filters.tsx'
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
    // While the operator signs in again, requests would only queue up.
    const refresh = () => {
      if (!document.hidden && !document.querySelector('dialog[open]')) void first.reload()
    }
    const timer = setInterval(refresh, REFRESH_MS)
    return () => clearInterval(timer)
  }, [search])
  return (
    <>
      <Title>Billing events</Title>
      <EventFilters filter={filter} />
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

function EventFilters({ filter }: { filter: Filter }) {
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
    <Filters count={Object.keys(filter).length}>
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
    </Filters>
  )
}

type EventCount = { count: number; isComplete: boolean }
type ReplayProgress = { done: number; failed: number }

/** Replays all events that match the filters, after saying how many they are. */
function ReplayAll({ filter, onDone }: { filter: Filter; onDone: () => Promise<void> }) {
  const [matches, setMatches] = useState<EventCount | null>(null)
  const [progress, setProgress] = useState<ReplayProgress | null>(null)
  const stop = useRef(new AbortController())
  const query = new URLSearchParams(filter).toString()
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
      const result = await sendWithProgress<ReplayProgress, ReplayProgress>(
        'events/replay',
        filter,
        onProgress,
        signal,
      )
      showMessage(`Replayed ${describe(result)}.`)
    } catch (error) {
      if (!signal.aborted) throw error
      showMessage(`Stopped after ${describe(last)}.`)
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
    <div class="actions">
      <Action run={ask}>Replay all matches</Action>
      {matches && (
        <Dialog title={`Replay ${nameCount(matches)}?`} onClose={close}>
          {progress === null ? (
            <p>
              Homeport applies each event again, newest first. Users whose purchases were wrong gain
              or lose access at once. You can stop at any time.
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
    </div>
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
