import { useState } from 'preact/hooks'
import type { Stores as StoresService } from '../../../features/stores/stores.ts'
import { type ReplyOf, read } from '../../api.ts'
import { perform } from '../../declared.ts'
import { canEdit } from '../../operator.ts'
import { Action, Badge, Card, Copy, Details, List, Time, TimeAgo, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { PlayCards, PlayNotSetUp, PlaySetUp } from './play-store.tsx'
import { readStores, type Stores } from './read-stores.ts'
import { StripeCards, StripeSetUp } from './stripe.tsx'

type StoreApp = Stores['apps'][number]
type Check = ReplyOf<StoresService['status']['check']>[number]
type Results = { title: string; checks: Check[] }

/** Every app in each environment of its store, with tests of the connection. */
export function Screen() {
  const stores = useRemote('stores', readStores)
  return (
    <>
      <Title>Stores</Title>
      <Loaded from={stores}>
        {({ url, hasApiKey, apps, play, stripe }) =>
          apps.length === 0 && (play ?? stripe) === null ? (
            <>
              <AppStoreNotSetUp />
              <PlayNotSetUp />
            </>
          ) : (
            <>
              <div class="grid">
                {apps.map((app) => (
                  <AppCard
                    key={`${app.bundleId} ${app.environment}`}
                    app={app}
                    hasApiKey={hasApiKey}
                  />
                ))}
                {play !== null && <PlayCards play={play} />}
                {stripe !== null && <StripeCards stripe={stripe} />}
              </div>
              <Connection hasAppStore={apps.length > 0} onTested={stores.reload} />
              {apps.length > 0 && <AppStoreSetUp url={url} hasApiKey={hasApiKey} />}
              {play !== null && <PlaySetUp play={play} />}
              {stripe !== null && <StripeSetUp stripe={stripe} />}
            </>
          )
        }
      </Loaded>
    </>
  )
}

function AppStoreNotSetUp() {
  return (
    <Card title="The App Store is not set up">
      <p>
        To receive purchases directly from the App Store, set <code>APP_STORE_APPS</code> to the
        bundle id and Apple ID of your app, such as <code>com.example.app:1234567890</code>, and
        restart the server. This page then shows the URL to enter in App Store Connect.
      </p>
    </Card>
  )
}

function AppCard({ app, hasApiKey }: { app: StoreApp; hasApiKey: boolean }) {
  const { bundleId, environment, lastNotificationAt, completeUntil } = app
  const neverRead = hasApiKey ? 'Not read yet' : 'Needs an API key'
  return (
    <Card title={`${bundleId}, ${environment}`}>
      <Details
        items={[
          ['Last notification', <TimeAgo key="last" at={lastNotificationAt} />],
          [
            'History complete up to',
            completeUntil === null ? neverRead : <Time key="until" at={completeUntil} />,
          ],
          [
            'API key',
            <Badge key="key" tone={hasApiKey ? 'good' : 'warn'}>
              {hasApiKey ? 'set' : 'not set'}
            </Badge>,
          ],
        ]}
      />
    </Card>
  )
}

type ConnectionProps = { hasAppStore: boolean; onTested: () => Promise<void> }

/** Buttons that test the connection, and the latest results. */
function Connection({ hasAppStore, onTested }: ConnectionProps) {
  const [results, setResults] = useState<Results | null>(null)
  const [isWaiting, setWaiting] = useState(false)
  const check = async () => {
    setResults(null)
    setResults({ title: 'Checks', checks: await read<Check[]>('stores/check') })
  }
  const test = (environment: 'production' | 'sandbox') => async () => {
    setResults(null)
    setWaiting(true)
    try {
      const checks = await perform('stores/test', { environment })
      setResults({ title: `Test notification, ${environment}`, checks })
      await onTested()
    } finally {
      setWaiting(false)
    }
  }
  return (
    <Card title="Connection">
      <div class="actions">
        <Action run={check}>Check the connection</Action>
        {hasAppStore && canEdit.value && (
          <>
            <Action run={test('production')}>Send a test notification (production)</Action>
            <Action run={test('sandbox')}>Send a test notification (sandbox)</Action>
          </>
        )}
      </div>
      <div role="status">
        {isWaiting && <p class="soft">Waiting for Apple. This can take a minute.</p>}
        {results && <CheckList results={results} />}
      </div>
    </Card>
  )
}

function CheckList({ results: { title, checks } }: { results: Results }) {
  return (
    <>
      <h3>{title}</h3>
      <List items={checks}>
        {({ what, fault }) => (
          <li key={what}>
            <span>{what}</span>
            <Badge tone={fault === null ? 'good' : 'bad'}>{fault === null ? 'OK' : 'failed'}</Badge>
            {fault !== null && <p class="wide">{fault}</p>}
          </li>
        )}
      </List>
    </>
  )
}

function AppStoreSetUp({ url, hasApiKey }: { url: string | null; hasApiKey: boolean }) {
  return (
    <Card title="Setup in App Store Connect">
      {url === null ? (
        <p class="warn">
          Set <code>BASE_URL</code> to the public address of this server, beginning with https://,
          to see the notification URL.
        </p>
      ) : (
        <div class="actions">
          <code>{url}</code>
          <Copy text={url} label="Copy URL" />
        </div>
      )}
      <ol>
        <li>Open your app, then App Information, then App Store Server Notifications.</li>
        <li>Enter this URL as the production server URL and as the sandbox server URL.</li>
        <li>Choose version 2 for both.</li>
        {canEdit.value && <li>Send a test notification from this page.</li>}
      </ol>
      {!hasApiKey && (
        <p class="soft">
          Testing the connection and recovering missed notifications require an API key: create one
          under Users and Access → Integrations → In-App Purchase, and set{' '}
          <code>APP_STORE_ISSUER_ID</code>, <code>APP_STORE_KEY_ID</code> and{' '}
          <code>APP_STORE_KEY_FILE</code>.
        </p>
      )}
    </Card>
  )
}
