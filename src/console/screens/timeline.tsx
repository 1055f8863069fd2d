import { useState } from 'preact/hooks'
import { encodeSegment } from '../../lib/path-segment.ts'
import { send } from '../api.ts'
import { words } from '../format.ts'
import { linkTo, query } from '../router.ts'
import type { Me, Timeline } from '../types.ts'
import { Changes } from '../ui/changes.tsx'
import { say } from '../ui/messages.tsx'
import { Act, At, Badge, Card, Empty } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

type Line = Timeline['lines'][number]

/** What happened to somebody’s purchases, and why access is on or off now. */
export function TimelineScreen({ id, me }: { id: string; me: Me }) {
  const environment = query.value.get('environment') === 'sandbox' ? 'sandbox' : 'production'
  const timeline = useRemote<Timeline>(
    `people/${encodeSegment(id)}/timeline?environment=${environment}`,
  )
  const askProvider = async () => {
    const path = `people/${encodeSegment(id)}/reconcile`
    const { corrected } = await send<{ corrected: string[] }>(path)
    await timeline.reload()
    say(
      corrected.length === 0 ? 'The provider says the same.' : `Corrected: ${corrected.join(', ')}`,
    )
  }
  return (
    <Loaded from={timeline}>
      {(data) => (
        <>
          <p class={data.sentence.startsWith('Access is on') ? 'sentence good' : 'sentence bad'}>
            {data.sentence}
          </p>
          <div class="actions">
            <a
              class="button"
              href={linkTo(`people/${encodeSegment(id)}/subscription`, otherThan(environment))}
            >
              Show {environment === 'production' ? 'the sandbox' : 'production'}
            </a>
            {me.role !== 'reader' && <Act act={askProvider}>Ask the provider</Act>}
          </div>
          {data.heldBy && (
            <p>
              Held by{' '}
              <a href={linkTo(`people/${encodeSegment(data.heldBy)}/subscription`)}>
                {data.heldBy}
              </a>
            </p>
          )}
          {data.lines.length === 0 && <Empty>There are no purchases in {environment}.</Empty>}
          {data.lines.map((line) => (
            <LineCard key={line.transactionId} line={line} />
          ))}
          {data.hiddenLines > 0 && <p class="soft">{data.hiddenLines} more are not shown.</p>}
          {data.transfers.length > 0 && (
            <Card title="Transfers">
              <ul class="list">
                {data.transfers.map(({ eventId, at, from, to }) => (
                  <li key={eventId}>
                    <a href={linkTo(`events/${encodeSegment(eventId)}`)}>
                      from {from.join(', ') || 'nobody'} to {to.join(', ') || 'nobody'}
                    </a>
                    <span class="soft">
                      <At at={at} />
                    </span>
                  </li>
                ))}
              </ul>
            </Card>
          )}
          {data.ids.length > 1 && (
            <Card title="Ids of this customer">
              <ul class="list">
                {data.ids.map((one) => (
                  <li key={one}>
                    <span class="mono">{one}</span>
                  </li>
                ))}
              </ul>
            </Card>
          )}
        </>
      )}
    </Loaded>
  )
}

function LineCard({ line }: { line: Line }) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? line.events : line.events.slice(0, 10)
  return (
    <Card title={line.productId ?? 'Unknown product'}>
      <p>
        <Badge tone={line.active ? 'good' : 'bad'}>{line.status.replaceAll('_', ' ')}</Badge>{' '}
        <span class="soft">
          {line.store ?? 'unknown store'}, transaction {line.transactionId}, since{' '}
          <At at={line.startedAt} />
          {line.endsAt && (
            <>
              , {line.active ? 'until' : 'ended'} <At at={line.endsAt} />
            </>
          )}
          {line.replacedBy && <>, replaced by {line.replacedBy}</>}
        </span>
      </p>
      <ol class="list">
        {shown.map((event) => (
          <li key={event.eventId}>
            <a href={linkTo(`events/${encodeSegment(event.eventId)}`)}>{event.type}</a>
            {event.outcome === 'failed' && <Badge tone="bad">failed</Badge>}
            <span class="soft">
              <At at={event.at} />
            </span>
            {event.changes.length > 0 ? (
              <details>
                <summary>
                  {event.outcome === 'failed' ? 'would change' : 'changed'}{' '}
                  {event.changes.map(({ path }) => words(path).toLowerCase()).join(', ')}
                </summary>
                <Changes of={event.changes} />
              </details>
            ) : (
              <span class="soft">changed nothing</span>
            )}
          </li>
        ))}
      </ol>
      {shown.length < line.events.length && (
        <button type="button" onClick={() => setWhole(true)}>
          All {line.events.length} events
        </button>
      )}
      {line.isCut && <p class="soft">Earlier events are not shown.</p>}
    </Card>
  )
}

function otherThan(environment: string) {
  return environment === 'production' ? { environment: 'sandbox' } : {}
}
