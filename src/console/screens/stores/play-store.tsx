import { DAY_MS } from '../../../lib/time/durations.ts'
import { number } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge, Card, CopyLine, Details, type Fact, Time, TimeAgo } from '../../ui/parts.tsx'
import type { Stores } from './read-stores.ts'

type Play = NonNullable<Stores['play']>

const PUBLISHER = 'google-play-developer-notifications@system.gserviceaccount.com'

export function PlayNotSetUp() {
  return (
    <Card title="Google Play is not set up">
      <p>
        To receive purchases directly from Google Play, set <code>PLAY_PACKAGES</code> to the
        package name of your app, such as <code>com.example.app</code>, and{' '}
        <code>PLAY_SERVICE_ACCOUNT_FILE</code> to the path of the JSON key of a service account.
        Then restart the server. This page then shows the next steps.
      </p>
    </Card>
  )
}

/** A card per package, and the queue of purchases to refresh. */
export function PlayCards({ play }: { play: Play }) {
  return (
    <>
      {play.packages.map(({ packageName, lastNotificationAt, refundsReadUntil }) => (
        <Card key={packageName} title={`${packageName}, Google Play`}>
          <Details
            items={[
              ['Last notification', <TimeAgo key="last" at={lastNotificationAt} />],
              [
                'Refunds synced up to',
                refundsReadUntil ? <Time key="until" at={refundsReadUntil} /> : 'Not synced yet',
              ],
            ]}
          />
        </Card>
      ))}
      <Card title="Google Play queue">
        <Details items={listQueueFacts(play)} />
      </Card>
    </>
  )
}

function listQueueFacts({ waiting, oldestUnacknowledgedAt: oldest }: Play): Fact[] {
  const isLate = oldest !== null && Date.now() - Date.parse(oldest) > DAY_MS
  return [
    ['Purchases waiting for a refresh', number(waiting)],
    [
      'Oldest unacknowledged purchase',
      oldest === null ? (
        'None'
      ) : (
        <>
          <a href={linkTo('purchases', { filter: 'unacknowledged' })}>
            <TimeAgo at={oldest} />
          </a>{' '}
          {isLate && <Badge tone="warn">Google refunds it after 3 days</Badge>}
        </>
      ),
    ],
  ]
}

export function PlaySetUp({ play: { url, audience } }: { play: Play }) {
  return (
    <Card title="Setup in Google Play">
      {(url === null || audience === null) && (
        <p class="warn">
          Set <code>BASE_URL</code> to the public address of this server, beginning with https://,
          to see the push URL and the audience.
        </p>
      )}
      {url !== null && <CopyLine name="Push URL" text={url} label="Copy URL" />}
      {audience !== null && <CopyLine name="Audience" text={audience} label="Copy audience" />}
      <CopyLine name="Google's publisher account" text={PUBLISHER} label="Copy account" />
      <ol>
        <li>In Google Cloud → Pub/Sub, create a topic.</li>
        <li>On the topic, give Google's publisher account the role Pub/Sub Publisher.</li>
        <li>
          Create a subscription to the topic with the delivery type Push and the push URL. Enable
          authentication: choose a service account, set <code>PLAY_PUSH_ACCOUNT</code> to its
          e-mail, and enter the audience.
        </li>
        <li>Leave payload unwrapping off.</li>
        <li>
          In Play Console → Monetization setup, enter the topic name, such as{' '}
          <code>projects/my-project/topics/my-topic</code>.
        </li>
        <li>Send a test notification there. Then check the connection on this page.</li>
      </ol>
    </Card>
  )
}
