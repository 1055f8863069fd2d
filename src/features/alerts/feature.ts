import type { ConditionList } from '../../platform/conditions/condition.ts'
import type { ReadMetric } from '../../platform/conditions/measurements.ts'
import type { Feature, Platform } from '../../platform/feature.ts'
import { alertActions } from './actions.ts'
import { alertCommands } from './commands.ts'
import { alertsConsole } from './console.ts'
import { type AlertsDb, alertTables } from './schema.ts'
import { type Alerts, createAlerts } from './service.ts'

type Needs = {
  readMetric: ReadMetric
  conditions: ConditionList
  alertOperators: Parameters<typeof createAlerts>[0]['alertOperators']
  announce: Parameters<typeof createAlerts>[0]['announce']
}

export const alertsFeature = {
  tables: alertTables,
  commands: alertCommands,
  actions: alertActions,
  create(platform: Platform<AlertsDb>, needs: Needs) {
    const hasAddress = platform.config.alertEmail !== null
    const alerts: Alerts = createAlerts({ ...platform, ...needs, hasAddress })
    return {
      services: { alerts },
      consoleRoutes: () => alertsConsole({ alerts }),
      jobs: [
        {
          name: 'alerts',
          schedule: ['* * * * *'],
          run: alerts.evaluate,
          runsOnEveryInstance: true,
        },
      ],
    }
  },
} satisfies Feature
