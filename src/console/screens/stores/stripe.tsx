import { number } from '../../format.ts'
import { Card, CopyLine, Details, Time, TimeAgo } from '../../ui/parts.tsx'
import type { Stores } from './read-stores.ts'

type Stripe = NonNullable<Stores['stripe']>

/** A card per environment of Stripe, and the plans that do not match it. */
export function StripeCards({ stripe }: { stripe: Stripe }) {
  return (
    <>
      {stripe.environments.map(({ environment, lastNotificationAt, completeUntil }) => (
        <Card key={environment} title={`Stripe, ${environment}`}>
          <Details
            items={[
              ['Last event', <TimeAgo key="last" at={lastNotificationAt} />],
              [
                'Events complete up to',
                completeUntil ? <Time key="until" at={completeUntil} /> : 'Not read yet',
              ],
              ['Waiting for a refresh', number(stripe.waiting)],
            ]}
          />
        </Card>
      ))}
      {stripe.priceProblems.length > 0 && (
        <Card title="Plans that do not match Stripe">
          <ul>
            {stripe.priceProblems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </Card>
      )}
    </>
  )
}

export function StripeSetUp({ stripe: { url, eventTypes } }: { stripe: Stripe }) {
  return (
    <Card title="Setup at Stripe">
      {url === null ? (
        <p class="warn">
          Set <code>BASE_URL</code> to the public address of this server, beginning with https://,
          to see the webhook’s URL.
        </p>
      ) : (
        <CopyLine name="URL" text={url} />
      )}
      <p>In Workbench → Webhooks, add an endpoint with this URL and these events:</p>
      <CopyLine name="Events" text={eventTypes.join(', ')} />
      <p class="soft">Refunds and disputes are handled in Stripe’s Dashboard.</p>
    </Card>
  )
}
