import type { EventSearch } from '../../features/billing/inbox/event-search.ts'
import type { AccountSummary } from '../../features/users/accounts/directory.ts'
import { encodeSegment } from '../../lib/path-segment.ts'
import { type ReplyOf, send } from '../api.ts'
import { canEdit } from '../operator.ts'
import { linkTo } from '../router.ts'
import { showMessage } from '../ui/messages.tsx'
import { Action, Badge, Card, Copy, type Fact, Facts, Time, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

export type FoundEvent = ReplyOf<EventSearch['find']>['events'][number]
type BillingEvent = FoundEvent & {
  body: string
  access: string | null
  person: AccountSummary | null
}
type Replayed = { outcome: string; error: string | null; access: string | null }

/** One billing event with its payload and effect. */
export function EventScreen({ id }: { id: string }) {
  const path = `events/${encodeSegment(id)}`
  const event = useRemote<BillingEvent>(path)
  const replay = async () => {
    const { outcome, error, access } = await send<Replayed>(`${path}/replay`)
    await event.reload()
    if (outcome === 'failed') showMessage(`It fails again: ${error}`, 'bad')
    else showMessage(`Replayed. ${access ?? ''}`)
  }
  return (
    <Loaded from={event}>
      {(data) => (
        <>
          <Title actions={canEdit.value && <Action run={replay}>Replay this event</Action>}>
            {data.type}
          </Title>
          {data.error && (
            <div class="sentence bad" role="alert">
              It could not be applied: the server met an error while it took the event in, so access
              is as if it had not come. Replay it. If it fails again, show a developer what follows,
              with the body.
              <pre>{data.error}</pre>
            </div>
          )}
          {data.access && (
            <p class="sentence">
              {data.person && (
                <>
                  <a href={linkTo(`people/${data.person.id}/subscription`)}>
                    {data.person.name || data.person.email || 'A guest'}
                  </a>
                  :{' '}
                </>
              )}
              {data.access}
            </p>
          )}
          <Card>
            <Facts items={factsOf(data)} />
          </Card>
          <Card title="Body as it came">
            <div class="actions">
              <Copy text={data.body} label="Copy the body" />
            </div>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
            <section aria-label="Body" class="body" tabIndex={0}>
              <pre>{pretty(data.body)}</pre>
            </section>
          </Card>
        </>
      )}
    </Loaded>
  )
}

function factsOf(event: BillingEvent): Fact[] {
  const { eventId, appUserId, outcome, environment, receivedAt, eventAt, duplicates } = event
  const tone = outcome === 'failed' ? 'bad' : outcome === 'applied' ? 'good' : 'plain'
  const user = appUserId && <a href={linkTo('people', { q: appUserId })}>{appUserId}</a>
  const again = `${duplicates} times${event.conflicting ? ', with another body' : ''}`
  return [
    ['Id', <code key="id">{eventId}</code>],
    ['Outcome', <Badge key="outcome" tone={tone} children={outcome} />],
    ['App user id', user ?? 'nobody named'],
    ['Environment', environment?.toLowerCase() ?? 'not said'],
    ['Happened', <Time key="at" at={eventAt} />],
    ['Came', <Time key="came" at={receivedAt} />],
    ['Came again', duplicates === 0 ? 'no' : again],
    ['Times in it', event.clockIsOff ? 'off: a time in it is implausible' : 'fine'],
  ]
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
