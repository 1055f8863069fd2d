import type { ComponentType } from 'preact'
import { loadedScreen } from './frame/loaded-screen.tsx'
import { EventsScreen } from './screens/events/events.tsx'
import { MeScreen } from './screens/operators/me.tsx'
import { OverviewScreen } from './screens/overview/overview.tsx'
import { PurchasesScreen } from './screens/purchases/purchases.tsx'
import { FilesScreen } from './screens/system/files.tsx'
import { RatesScreen } from './screens/system/rates.tsx'
import { UsageScreen } from './screens/system/usage.tsx'
import { PeopleScreen } from './screens/users/people.tsx'

// The screens with much code that few open.
const AlertsScreen = loadedScreen(
  'Alerts',
  async () => (await import('./screens/overview/alerts.tsx')).AlertsScreen,
)
const ApiKeysScreen = loadedScreen(
  'API keys',
  async () => (await import('./screens/keys/api-keys.tsx')).ApiKeysScreen,
)
const AuditScreen = loadedScreen(
  'Audit',
  async () => (await import('./screens/operators/audit.tsx')).AuditScreen,
)
const BackupsScreen = loadedScreen(
  'Backups',
  async () => (await import('./screens/system/backups.tsx')).BackupsScreen,
)
const BusinessScreen = loadedScreen(
  'Business',
  async () => (await import('./screens/business/business.tsx')).BusinessScreen,
)
const FaqsScreen = loadedScreen(
  'FAQs',
  async () => (await import('./screens/content/faqs.tsx')).FaqsScreen,
)
const KeysScreen = loadedScreen(
  'Keys',
  async () => (await import('./screens/keys/keys.tsx')).KeysScreen,
)
const LiveScreen = loadedScreen(
  'Live log',
  async () => (await import('./screens/system/live.tsx')).LiveScreen,
)
const MetricsScreen = loadedScreen(
  'Metrics',
  async () => (await import('./screens/metrics/metrics.tsx')).MetricsScreen,
)
const OperatorsScreen = loadedScreen(
  'Operators',
  async () => (await import('./screens/operators/operator-list.tsx')).OperatorsScreen,
)
const PlansScreen = loadedScreen(
  'Plans',
  async () => (await import('./screens/content/plans.tsx')).PlansScreen,
)
const SettingsScreen = loadedScreen(
  'Settings',
  async () => (await import('./screens/content/settings.tsx')).SettingsScreen,
)
const StoresScreen = loadedScreen(
  'Stores',
  async () => (await import('./screens/stores/connections.tsx')).StoresScreen,
)
const WebhooksScreen = loadedScreen(
  'Webhooks',
  async () => (await import('./screens/webhooks/webhooks.tsx')).WebhooksScreen,
)

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
  { path: '', label: 'Overview', key: 'o', Screen: OverviewScreen },
  { path: 'people', label: 'People', group: 'Customers', key: 'p', Screen: PeopleScreen },
  { path: 'purchases', label: 'Purchases', group: 'Customers', Screen: PurchasesScreen },
  { path: 'business', label: 'Business', group: 'Customers', Screen: BusinessScreen },
  { path: 'events', label: 'Events', group: 'Customers', key: 'e', Screen: EventsScreen },
  { path: 'usage', label: 'Usage', group: 'Customers', Screen: UsageScreen },
  { path: 'files', label: 'Files', group: 'Customers', Screen: FilesScreen },
  { path: 'settings', label: 'Settings', group: 'App', key: 's', Screen: SettingsScreen },
  { path: 'plans', label: 'Plans', group: 'App', Screen: PlansScreen },
  { path: 'faqs', label: 'FAQs', group: 'App', Screen: FaqsScreen },
  { path: 'rates', label: 'Rates', group: 'App', Screen: RatesScreen },
  { path: 'stores', label: 'Stores', group: 'Integrations', Screen: StoresScreen },
  { path: 'webhooks', label: 'Webhooks', group: 'Integrations', Screen: WebhooksScreen },
  { path: 'api-keys', label: 'API keys', group: 'Integrations', Screen: ApiKeysScreen },
  { path: 'alerts', label: 'Alerts', group: 'Server', Screen: AlertsScreen },
  { path: 'metrics', label: 'Metrics', group: 'Server', Screen: MetricsScreen },
  { path: 'live', label: 'Live log', group: 'Server', Screen: LiveScreen },
  { path: 'backups', label: 'Backups', group: 'Server', Screen: BackupsScreen },
  { path: 'keys', label: 'Keys', group: 'Server', Screen: KeysScreen },
  { path: 'audit', label: 'Audit', group: 'Access', key: 'a', Screen: AuditScreen },
  { path: 'operators', label: 'Operators', group: 'Access', Screen: OperatorsScreen },
  { path: 'me', Screen: MeScreen },
]
