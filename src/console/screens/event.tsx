import { encodeSegment } from '../../lib/path-segment.ts'
import { send } from '../api.ts'
import { linkTo } from '../router.ts'
import type { BillingEvent, Me } from '../types.ts'
import { say } from '../ui/messages.tsx'
import { Act, At, Badge, Card, Copy, Facts, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

type Replayed = { outcome: string; error: string | null; access: string | null }

/** One event as it came, and what came of it. */
export function EventScreen({ id, me }: { id: string; me: Me }) {
  const path = `events/${encodeSegment(id)}`
  const event = useRemote<BillingEvent>(path)
  const replay = async () => {
    const { outcome, error, access } = await send<Replayed>(`${path}/replay`)
    await event.reload()
    if (outcome === 'failed') say(`It fails again: ${error}`, 'bad')
    else say(`Replayed. ${access ?? ''}`)
  }
  return (
    <Loaded from={event}>
      {(data) => (
        <>
          <Title actions={me.role !== 'reader' && <Act act={replay}>Replay this event</Act>}>
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
            <Facts of={factsOf(data)} />
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

function factsOf(event: BillingEvent): Parameters<typeof Facts>[0]['of'] {
  const { eventId, appUserId, outcome, environment, receivedAt, eventAt, duplicates } = event
  const tone = outcome === 'failed' ? 'bad' : outcome === 'applied' ? 'good' : 'plain'
  return [
    [
      'Id',
      <span key="id" class="mono">
        {eventId}
      </span>,
    ],
    [
      'Outcome',
      <Badge key="outcome" tone={tone}>
        {outcome}
      </Badge>,
    ],
    [
      'App user id',
      appUserId ? <a href={linkTo('people', { q: appUserId })}>{appUserId}</a> : 'nobody named',
    ],
    ['Environment', environment?.toLowerCase() ?? 'not said'],
    ['Happened', <At key="at" at={eventAt} />],
    ['Came', <At key="came" at={receivedAt} />],
    [
      'Came again',
      duplicates === 0
        ? 'no'
        : `${duplicates} times${event.conflicting ? ', with another body' : ''}`,
    ],
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
