import type { ComponentType } from 'preact'
import { loadedScreen } from './frame/loaded-screen.tsx'
import { OverviewScreen } from './screens/overview/overview.tsx'
import { readStores } from './screens/stores/read-stores.ts'
import { UsageScreen, UserUsage } from './screens/system/usage.tsx'
import { PeopleScreen } from './screens/users/people.tsx'
import type { UserTab } from './screens/users/user.tsx'
import { UserData } from './screens/users/user-data.tsx'
import { UserFiles } from './screens/users/user-files.tsx'

// Large, rarely opened screens, loaded on demand.
const AlertsScreen = loadedScreen('Alerts', () => import('./screens/overview/alerts.tsx'))
const ApiKeysScreen = loadedScreen('API keys', () => import('./screens/keys/api-keys.tsx'))
const AuditScreen = loadedScreen('Audit log', () => import('./screens/operators/audit.tsx'))
const BackupsScreen = loadedScreen('Backups', () => import('./screens/system/backups.tsx'))
const BusinessScreen = loadedScreen('Business', () => import('./screens/business/business.tsx'))
const EmailsScreen = loadedScreen('E-mails', () => import('./screens/content/emails.tsx'))
const EventsScreen = loadedScreen('Billing events', () => import('./screens/events/events.tsx'))
const FaqsScreen = loadedScreen('FAQs', () => import('./screens/content/faqs.tsx'))
const FilesScreen = loadedScreen('Files', () => import('./screens/system/files.tsx'))
const KeysScreen = loadedScreen('Keys', () => import('./screens/keys/keys.tsx'))
const LiveScreen = loadedScreen('Live log', () => import('./screens/system/live.tsx'))
const MeScreen = loadedScreen('Your account', () => import('./screens/operators/me.tsx'))
const MetricsScreen = loadedScreen('Metrics', () => import('./screens/metrics/metrics.tsx'))
const OperatorsScreen = loadedScreen(
  'Operators',
  () => import('./screens/operators/operator-list.tsx'),
)
const PlansScreen = loadedScreen('Plans', () => import('./screens/content/plans.tsx'))
const PurchasesScreen = loadedScreen('Purchases', () => import('./screens/purchases/purchases.tsx'))
const RatesScreen = loadedScreen('Currency rates', () => import('./screens/system/rates.tsx'))
const SettingsScreen = loadedScreen('Settings', () => import('./screens/content/settings.tsx'))
const StoresScreen = loadedScreen('Stores', () => import('./screens/stores/connections.tsx'))
const WebhooksScreen = loadedScreen('Webhooks', () => import('./screens/webhooks/webhooks.tsx'))

const Overview = () => <OverviewScreen readStores={readStores} />
const Subscription: UserTab['Tab'] = loadedScreen('', async () => {
  const [{ TimelineScreen }, buttons] = await Promise.all([
    import('./screens/purchases/user-timeline.tsx'),
    import('./screens/purchases/purchase-links.tsx'),
  ])
  const { LinkPurchase, UndoLink } = buttons
  return { Screen: (user) => <TimelineScreen {...user} {...{ LinkPurchase, UndoLink }} /> }
})

/** The tabs of a user's page after the account. */
const USER_TABS: UserTab[] = [
  { path: 'subscription', label: 'Subscription', Tab: Subscription },
  { path: 'usage', label: 'Usage', Tab: UserUsage },
  { path: 'files', label: 'Files', Tab: UserFiles },
  { path: 'data', label: 'Data', Tab: UserData },
]

type Group = 'Customers' | 'App' | 'Integrations' | 'Server' | 'Access'

type ScreenEntry = {
  /** After `/console/`. */
  path: string
  /** The name in the navigation; omitted for screens that are not listed there. */
  label?: string
  group?: Group
  /** Opens the screen when pressed after `g`. */
  key?: string
  Screen: ComponentType
}

/** Every screen. The navigation, the shortcuts and their help are generated from this list. */
export const SCREENS: ScreenEntry[] = [
  { path: '', label: 'Overview', key: 'o', Screen: Overview },
  {
    path: 'people',
    label: 'People',
    group: 'Customers',
    key: 'p',
    Screen: () => <PeopleScreen tabs={USER_TABS} />,
  },
  { path: 'purchases', label: 'Purchases', group: 'Customers', Screen: PurchasesScreen },
  { path: 'business', label: 'Business', group: 'Customers', Screen: BusinessScreen },
  { path: 'events', label: 'Events', group: 'Customers', key: 'e', Screen: EventsScreen },
  { path: 'usage', label: 'Usage', group: 'Customers', Screen: UsageScreen },
  { path: 'files', label: 'Files', group: 'Customers', Screen: FilesScreen },
  { path: 'settings', label: 'Settings', group: 'App', key: 's', Screen: SettingsScreen },
  { path: 'plans', label: 'Plans', group: 'App', Screen: PlansScreen },
  { path: 'faqs', label: 'FAQs', group: 'App', Screen: FaqsScreen },
  { path: 'emails', label: 'E-mails', group: 'App', Screen: EmailsScreen },
  { path: 'rates', label: 'Currency rates', group: 'App', Screen: RatesScreen },
  { path: 'stores', label: 'Stores', group: 'Integrations', Screen: StoresScreen },
  { path: 'webhooks', label: 'Webhooks', group: 'Integrations', Screen: WebhooksScreen },
  { path: 'api-keys', label: 'API keys', group: 'Integrations', Screen: ApiKeysScreen },
  { path: 'alerts', label: 'Alerts', group: 'Server', Screen: AlertsScreen },
  { path: 'metrics', label: 'Metrics', group: 'Server', Screen: MetricsScreen },
  { path: 'live', label: 'Live log', group: 'Server', Screen: LiveScreen },
  { path: 'backups', label: 'Backups', group: 'Server', Screen: BackupsScreen },
  { path: 'keys', label: 'Keys', group: 'Server', Screen: KeysScreen },
  { path: 'audit', label: 'Audit log', group: 'Access', key: 'a', Screen: AuditScreen },
  { path: 'operators', label: 'Operators', group: 'Access', Screen: OperatorsScreen },
  { path: 'me', Screen: MeScreen },
]
