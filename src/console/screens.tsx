import type { ComponentType } from 'preact'
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
import { RatesScreen } from './screens/rates.tsx'
import { SettingsScreen } from './screens/settings.tsx'
import type { Me } from './types.ts'
import { Empty, Title } from './ui/parts.tsx'

export type Screen = ComponentType<{ me: Me }>

const SCREENS: Record<string, Screen> = {
  '': OverviewScreen,
  people: PeopleScreen,
  events: EventsScreen,
  settings: SettingsScreen,
  plans: PlansScreen,
  faqs: FaqsScreen,
  files: FilesScreen,
  rates: RatesScreen,
  metrics: MetricsScreen,
  live: LiveScreen,
  backups: BackupsScreen,
  keys: KeysScreen,
  audit: AuditScreen,
  operators: OperatorsScreen,
  me: MeScreen,
}

/** The screen of a place. */
export function screenOf(place: string): Screen {
  return (Object.hasOwn(SCREENS, place) && SCREENS[place]) || Nowhere
}

function Nowhere() {
  return (
    <>
      <Title>There is no such screen</Title>
      <Empty>The address is wrong, or the screen is gone.</Empty>
    </>
  )
}
