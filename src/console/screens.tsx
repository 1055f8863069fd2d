import type { ComponentType } from 'preact'
import { AlertsScreen } from './screens/alerts.tsx'
import { ApiKeysScreen } from './screens/api-keys.tsx'
import { AuditScreen } from './screens/audit.tsx'
import { BackupsScreen } from './screens/backups.tsx'
import { EventsScreen } from './screens/events.tsx'
import { FaqsScreen } from './screens/faqs.tsx'
import { FilesScreen } from './screens/files.tsx'
import { KeysScreen } from './screens/keys.tsx'
import { LiveScreen } from './screens/live.tsx'
import { MeScreen } from './screens/me.tsx'
import { MetricsScreen } from './screens/metrics.tsx'
import { OperatorsScreen } from './screens/operators.tsx'
import { OverviewScreen } from './screens/overview.tsx'
import { PeopleScreen } from './screens/people.tsx'
import { PlansScreen } from './screens/plans.tsx'
import { PurchasesScreen } from './screens/purchases.tsx'
import { RatesScreen } from './screens/rates.tsx'
import { SettingsScreen } from './screens/settings.tsx'
import { StoresScreen } from './screens/stores.tsx'
import { UsageScreen } from './screens/usage.tsx'
import { WebhooksScreen } from './screens/webhooks.tsx'

type ScreenEntry = {
  /** The first segment of the path after `/console/`. */
  path: string
  /** The name in the navigation; omitted for screens that are not listed there. */
  label?: string
  /** Opens the screen when pressed after `g`. */
  key?: string
  Screen: ComponentType
}

/** Every screen. The navigation, the shortcuts and their help are generated from this list. */
export const SCREENS: ScreenEntry[] = [
  { path: '', label: 'Overview', key: 'o', Screen: OverviewScreen },
  { path: 'people', label: 'People', key: 'p', Screen: PeopleScreen },
  { path: 'events', label: 'Events', key: 'e', Screen: EventsScreen },
  { path: 'purchases', label: 'Purchases', Screen: PurchasesScreen },
  { path: 'stores', label: 'Stores', Screen: StoresScreen },
  { path: 'webhooks', label: 'Webhooks', Screen: WebhooksScreen },
  { path: 'settings', label: 'Settings', key: 's', Screen: SettingsScreen },
  { path: 'plans', label: 'Plans', Screen: PlansScreen },
  { path: 'usage', label: 'Usage', Screen: UsageScreen },
  { path: 'faqs', label: 'FAQs', Screen: FaqsScreen },
  { path: 'files', label: 'Files', Screen: FilesScreen },
  { path: 'rates', label: 'Rates', Screen: RatesScreen },
  { path: 'alerts', label: 'Alerts', Screen: AlertsScreen },
  { path: 'metrics', label: 'Metrics', Screen: MetricsScreen },
  { path: 'live', label: 'Live log', Screen: LiveScreen },
  { path: 'backups', label: 'Backups', Screen: BackupsScreen },
  { path: 'keys', label: 'Keys', Screen: KeysScreen },
  { path: 'api-keys', label: 'API keys', Screen: ApiKeysScreen },
  { path: 'audit', label: 'Audit', key: 'a', Screen: AuditScreen },
  { path: 'operators', label: 'Operators', Screen: OperatorsScreen },
  { path: 'me', Screen: MeScreen },
]
