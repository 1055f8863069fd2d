import type { ComponentType } from 'preact'
import { lazyScreen } from './frame/lazy-screen.tsx'
import { OverviewScreen } from './screens/overview/overview.tsx'
import { readStores } from './screens/stores/read-stores.ts'
import { UsageScreen, UserUsage } from './screens/system/usage.tsx'
import { PeopleScreen } from './screens/users/people.tsx'
import type { UserTab } from './screens/users/user.tsx'
import { UserData } from './screens/users/user-data.tsx'
import { UserFiles } from './screens/users/user-files.tsx'

const Overview = () => <OverviewScreen readStores={readStores} />
const Subscription: UserTab['Tab'] = lazyScreen('', async () => {
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

const People = () => <PeopleScreen tabs={USER_TABS} />

type ScreenEntry = {
  /** After `/console/`. */
  path: string
  /** The name in the navigation; omitted for screens that are not listed there. */
  label?: string
  group?: 'Customers' | 'App' | 'Integrations' | 'Server' | 'Access'
  /** Opens the screen when pressed after `g`. */
  key?: string
  Screen: ComponentType
}

/** A large or rarely opened screen, whose module is loaded on demand. */
function loaded(path: string, label: string, load: Parameters<typeof lazyScreen>[1], key = '') {
  return { path, label, key, Screen: lazyScreen(label, load) }
}

function inGroup(group: NonNullable<ScreenEntry['group']>, screens: ScreenEntry[]): ScreenEntry[] {
  return screens.map((screen) => ({ ...screen, group }))
}

/** Every screen. The navigation, the shortcuts and their help are generated from this list. */
export const SCREENS: ScreenEntry[] = [
  { path: '', label: 'Overview', key: 'o', Screen: Overview },
  ...inGroup('Customers', [
    { path: 'people', label: 'People', key: 'p', Screen: People },
    loaded('purchases', 'Purchases', () => import('./screens/purchases/purchases.tsx')),
    loaded('business', 'Business', () => import('./screens/business/business.tsx')),
    {
      ...loaded('events', 'Billing events', () => import('./screens/events/events.tsx'), 'e'),
      label: 'Events',
    },
    { path: 'usage', label: 'Usage', Screen: UsageScreen },
    loaded('files', 'Files', () => import('./screens/system/files.tsx')),
  ]),
  ...inGroup('App', [
    loaded('settings', 'Settings', () => import('./screens/content/settings.tsx'), 's'),
    loaded('plans', 'Plans', () => import('./screens/content/plans.tsx')),
    loaded('faqs', 'FAQs', () => import('./screens/content/faqs.tsx')),
    loaded('emails', 'E-mails', () => import('./screens/content/emails.tsx')),
    loaded('rates', 'Currency rates', () => import('./screens/system/rates.tsx')),
  ]),
  ...inGroup('Integrations', [
    loaded('stores', 'Stores', () => import('./screens/stores/connections.tsx')),
    loaded('webhooks', 'Webhooks', () => import('./screens/webhooks/webhooks.tsx')),
    loaded('api-keys', 'API keys', () => import('./screens/keys/api-keys.tsx')),
  ]),
  ...inGroup('Server', [
    loaded('alerts', 'Alerts', () => import('./screens/overview/alerts.tsx')),
    loaded('metrics', 'Metrics', () => import('./screens/metrics/metrics.tsx')),
    loaded('live', 'Live log', () => import('./screens/system/live.tsx')),
    loaded('backups', 'Backups', () => import('./screens/system/backups.tsx')),
    loaded('keys', 'Keys', () => import('./screens/keys/keys.tsx')),
  ]),
  ...inGroup('Access', [
    loaded('audit', 'Audit log', () => import('./screens/operators/audit.tsx'), 'a'),
    loaded('operators', 'Operators', () => import('./screens/operators/operator-list.tsx')),
  ]),
  { ...loaded('me', 'Your account', () => import('./screens/operators/me.tsx')), label: '' },
]
