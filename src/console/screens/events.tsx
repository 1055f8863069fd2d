import { useEffect, useRef, useState } from 'preact/hooks'
import { encodeSegment } from '../../lib/path-segment.ts'
import { sendLong } from '../api.ts'
import { number } from '../format.ts'
import { go, linkTo, parts, query } from '../router.ts'
import type { EventsPage, Me } from '../types.ts'
import { say } from '../ui/messages.tsx'
import { Act, Ago, At, Badge, Empty, Field, Title } from '../ui/parts.tsx'
import { Loaded, usePages } from '../ui/remote.tsx'
import { EventScreen } from './event.tsx'

type Found = EventsPage['events'][number]
type Filter = Record<string, string>

/** What the provider may send; others are typed. */
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
const NAMES = ['type', 'outcome', 'environment', 'user', 'conflicting', 'clockIsOff']
/** How often new events are looked for while nothing is filtered, in ms. */
const LOOK_EVERY = 5_000

/** The log of billing events, or one of them. */
export function EventsScreen({ me }: { me: Me }) {
  const [, id] = parts.value
  return id === undefined ? <EventLog me={me} /> : <EventScreen id={id} me={me} />
}

function EventLog({ me }: { me: Me }) {
  const filter = Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = query.value.get(name)
      return value ? [[name, value]] : []
    }),
  )
  const text = new URLSearchParams(filter).toString()
  const isFiltered = text !== ''
  const { first, rows, next, loadMore } = usePages(
    isFiltered ? `events?${text}` : 'events',
    (page: EventsPage) => page.events,
  )
  useEffect(() => {
    if (isFiltered) return
    const timer = setInterval(() => !document.hidden && void first.reload(), LOOK_EVERY)
    return () => clearInterval(timer)
  }, [text])
  return (
    <>
      <Title>Billing events</Title>
      <Filters filter={filter} />
      {me.role !== 'reader' && isFiltered && <ReplayAll filter={filter} onDone={first.reload} />}
      <Loaded from={first}>
        {({ scannedBackTo }) => (
          <>
            {rows.length === 0 && next === null && (
              <Empty>{isFiltered ? 'No event is like that.' : 'No event has come yet.'}</Empty>
            )}
            {rows.length > 0 && (
              <ul class="list">
                {rows.map((event) => (
                  <Row key={event.id} event={event} />
                ))}
              </ul>
            )}
            {next !== null && rows.length % 50 !== 0 && scannedBackTo && (
              <p class="soft">
                Looked back to <At at={scannedBackTo} /> at first; older ones may match, too.
              </p>
            )}
            {next !== null && <Act act={loadMore}>Look further back</Act>}
          </>
        )}
      </Loaded>
    </>
  )
}

function Row({ event }: { event: Found }) {
  const { eventId, type, outcome, error, environment, appUserId, receivedAt } = event
  return (
    <li>
      <a href={linkTo(`events/${encodeSegment(eventId)}`)}>{type}</a>
      {outcome !== 'applied' && (
        <Badge tone={outcome === 'failed' ? 'bad' : 'plain'}>{outcome}</Badge>
      )}
      {environment === 'SANDBOX' && <Badge>sandbox</Badge>}
      {event.conflicting && <Badge tone="warn">conflicting</Badge>}
      {event.clockIsOff && <Badge tone="warn">clock off</Badge>}
      {event.duplicates > 0 && <Badge>came {event.duplicates + 1} times</Badge>}
      <span class="soft mono">{appUserId ?? 'nobody named'}</span>
      <span class="soft">
        <Ago at={receivedAt} />
      </span>
      {error && <small class="bad">{error}</small>}
    </li>
  )
}

function Filters({ filter }: { filter: Filter }) {
  const set = (name: string, value: string) =>
    go(linkTo('events', { ...filter, [name]: value === '' ? undefined : value } as Filter))
  const choice = (name: string, label: string, options: string[]) => (
    <Field label={label}>
      <select value={filter[name] ?? ''} onChange={(event) => set(name, event.currentTarget.value)}>
        <option value="">any</option>
        {[...new Set([...options, ...(filter[name] ? [filter[name]] : [])])].map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </Field>
  )
  const flag = (name: string, label: string) => (
    <label class="field row">
      <input
        type="checkbox"
        checked={filter[name] === 'true'}
        onChange={(event) => set(name, event.currentTarget.checked ? 'true' : '')}
      />
      <span>{label}</span>
    </label>
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
      {flag('clockIsOff', 'Clock is off')}
    </form>
  )
}

/** Folds all that match again, and says how far it is. */
function ReplayAll({ filter, onDone }: { filter: Filter; onDone: () => Promise<void> }) {
  const [progress, setProgress] = useState<{ done: number; failed: number } | null>(null)
  const stop = useRef(new AbortController())
  const run = async () => {
    stop.current = new AbortController()
    setProgress({ done: 0, failed: 0 })
    try {
      const { done, failed } = await sendLong<
        { done: number; failed: number },
        { done: number; failed: number }
      >('events/replay', filter, setProgress, stop.current.signal)
      say(`Replayed ${number(done)} events, ${number(failed)} of them fail.`)
    } catch (error) {
      if (!stop.current.signal.aborted) throw error
      say('Stopped.')
    } finally {
      setProgress(null)
      await onDone()
    }
  }
  return (
    <div class="actions">
      <Act act={run}>Replay all that match</Act>
      {progress && (
        <>
          <span role="status">
            {number(progress.done)} replayed, {number(progress.failed)} fail
          </span>
          <button type="button" onClick={() => stop.current.abort()}>
            Stop
          </button>
        </>
      )}
    </div>
  )
}
