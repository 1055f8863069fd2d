import { send } from '../api.ts'
import { linkTo } from '../router.ts'
import type { BillingEvent, Me } from '../types.ts'
import { say } from '../ui/messages.tsx'
import { Act, At, Badge, Card, Copy, Facts, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

/** One event as it came, and what came of it. */
export function EventScreen({ id, me }: { id: string; me: Me }) {
  const path = `events/${encodeURIComponent(id)}`
  const event = useRemote<BillingEvent>(path)
  const replay = async () => {
    const { outcome, error } = await send<{ outcome: string; error: string | null }>(
      `${path}/replay`,
    )
    await event.reload()
    if (outcome === 'failed') say(`It fails again: ${error}`, 'bad')
    else say('The event was folded again.')
  }
  return (
    <Loaded from={event}>
      {(data) => (
        <>
          <Title actions={me.role !== 'reader' && <Act act={replay}>Replay this event</Act>}>
            {data.type}
          </Title>
          {data.error && (
            <p class="sentence bad" role="alert">
              It could not be applied: {data.error}
            </p>
          )}
          {data.access && <p class="sentence">{data.access}</p>}
          <Card>
            <Facts of={factsOf(data)} />
          </Card>
          <Card title="Body as it came">
            <div class="actions">
              <Copy text={data.body} label="Copy the body" />
            </div>
            <pre>{pretty(data.body)}</pre>
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
    ['Came again', `${duplicates} times${event.conflicting ? ', once with another body' : ''}`],
    ['Clock', event.clockIsOff ? 'off: a time in it is implausible' : 'plausible'],
  ]
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
