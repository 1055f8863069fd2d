import type { Deliveries } from '../../../features/webhooks/deliveries.ts'
import type { ReplyOf } from '../../api.ts'
import { linkTo } from '../../router.ts'
import { ActionButton } from '../../ui/declared.tsx'
import { Action, Badge, Card, Copy, Details, Time, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { Body } from '../events/body.tsx'
import { DeliveryState } from './parts.tsx'

type Delivery = ReplyOf<Deliveries['show']>
type Attempt = Delivery['log'][number]

/** One delivery: its request, and the response to each attempt. */
export function DeliveryScreen({ id }: { id: string }) {
  const delivery = useRemote<Delivery>(`deliveries/${id}`)
  return (
    <Loaded from={delivery}>
      {(data) => (
        <>
          <Title
            actions={
              <>
                <Action run={delivery.reload}>Reload</Action>
                <ActionButton
                  path="deliveries/:id/resend"
                  input={{ id }}
                  onDone={delivery.reload}
                />
              </>
            }
          >
            {data.type}
          </Title>
          <Card>
            <Details
              items={[
                ['State', <DeliveryState key="state" delivery={data} />],
                [
                  'Endpoint',
                  <a key="endpoint" href={linkTo(`webhooks/${data.endpointId}`)}>
                    {data.url}
                  </a>,
                ],
                ['Message id', <code key="id">{data.messageId}</code>],
                [
                  'User',
                  data.userId === null ? (
                    '–'
                  ) : (
                    <a key="user" href={linkTo(`people/${data.userId}`)}>
                      {data.userId}
                    </a>
                  ),
                ],
                ['Created', <Time key="created" at={data.createdAt} />],
                ['Next attempt', <Time key="next" at={data.nextAttemptAt} />],
              ]}
            />
          </Card>
          <Card title="Request">
            <div class="actions">
              <Copy text={data.body} label="Copy body" />
            </div>
            <Body name="Request body" text={data.body} />
          </Card>
          <Card title="Attempts">
            {data.log.length === 0 && <p class="empty">None yet.</p>}
            {data.log.map((attempt, at) => (
              <AttemptDetails key={attempt.at} attempt={attempt} number={at + 1} />
            ))}
          </Card>
        </>
      )}
    </Loaded>
  )
}

function AttemptDetails({ attempt, number }: { attempt: Attempt; number: number }) {
  const { at, duration, status, fault, reply } = attempt
  return (
    <>
      <h3>Attempt {number}</h3>
      <Details
        items={[
          ['Time', <Time key="at" at={at} />],
          ['Duration', `${duration} ms`],
          [
            'Status',
            <Badge key="status" tone={fault === null ? 'good' : 'bad'}>
              {status ?? 'no response'}
            </Badge>,
          ],
          fault !== null && ['Error', fault],
        ]}
      />
      {reply !== '' && <Body name={`Response to attempt ${number}`} text={reply} />}
    </>
  )
}
