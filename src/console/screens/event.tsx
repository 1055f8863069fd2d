import type { EventSearch } from '../../features/billing/inbox/event-search.ts'
import type { AccountSummary } from '../../features/users/accounts/directory.ts'
import { encodeSegment } from '../../lib/path-segment.ts'
import { failure, type ReplyOf, send } from '../api.ts'
import { canEdit } from '../operator.ts'
import { eventName } from '../purchase-words.ts'
import { linkTo } from '../router.ts'
import { showMessage } from '../ui/messages.tsx'
import { Action, Badge, Card, Copy, type Fact, Facts, Sentence, Time, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

export type FoundEvent = ReplyOf<EventSearch['withFacts']>[number]
type BillingEvent = ReplyOf<EventSearch['find']>['events'][number] & {
  body: string
  access: string | null
  person: AccountSummary | null
}
type ReplayResult = { outcome: string; error: string | null }

/** One billing event with its payload and effect. */
export function EventScreen({ id }: { id: string }) {
  const path = `events/${encodeSegment(id)}`
  const event = useRemote<BillingEvent>(path)
  const replay = async () => {
    const { outcome, error } = await send<ReplayResult>(`${path}/replay`)
    await event.reload()
    if (outcome === 'failed') throw failure(`It failed again: ${error}`)
    showMessage('Replayed.')
  }
  return (
    <Loaded from={event}>
      {(data) => (
        <>
          <Title actions={canEdit.value && <Action run={replay}>Replay event</Action>}>
            {eventName(data.type)}
          </Title>
          <div class="glance">
            {data.error && (
              <p class="sentence bad" role="alert">
                This event could not be applied, so access has not changed: {data.error}
              </p>
            )}
            {data.access && (
              <p class="sentence">
                {data.person && (
                  <>
                    <a href={linkTo(`people/${data.person.id}/subscription`)}>
                      {data.person.name || data.person.email || 'Guest'}
                    </a>
                    :{' '}
                  </>
                )}
                <Sentence>{data.access}</Sentence>
              </p>
            )}
          </div>
          <Card>
            <Facts items={factsOf(data)} />
          </Card>
          <Card title="Payload">
            <div class="actions">
              <Copy text={data.body} label="Copy payload" />
            </div>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard */}
            <section aria-label="Payload" class="body" tabIndex={0}>
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
  const payload = event.conflicting ? ', with a different payload' : ''
  return [
    ['Type', <code key="type">{event.type}</code>],
    ['Event id', <code key="id">{eventId}</code>],
    ['Outcome', <Badge key="outcome" tone={tone} children={outcome} />],
    ['App user id', user ?? 'None'],
    ['Environment', environment?.toLowerCase() ?? 'unknown'],
    ['Occurred', <Time key="at" at={eventAt} />],
    ['Received', <Time key="received" at={receivedAt} />],
    ['Duplicates', duplicates === 0 ? 'None' : `${duplicates}${payload}`],
    ['Timestamps', event.clockIsOff ? 'Implausible' : 'Plausible'],
  ]
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
