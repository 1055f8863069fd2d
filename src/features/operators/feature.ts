import { Elysia } from 'elysia'
import { formatFirstCommand } from '../../config/command-line.ts'
import type { ConsoleContext, Feature, Platform } from '../../platform/feature.ts'
import { findConsoleUrl } from '../../platform/public-url.ts'
import { operatorActions } from './actions.ts'
import { auditConsole } from './console/audit.ts'
import { signInConsole } from './console/sign-in.ts'
import { operatorLists } from './lists.ts'
import { createOperators } from './operators.ts'
import { type OperatorsDb, operatorTables } from './schema.ts'
import { viewsConsole } from './views/console.ts'
import { createViews } from './views/views.ts'

/** Console operators, and the audit log of their actions. */
export const operatorsFeature = {
  tables: operatorTables,
  commands: [],
  lists: operatorLists,
  actions: operatorActions,
  auditEvents: {
    'audit.export': 'Exported the audit log',
    'operators.add-passkey': 'Added a passkey',
    'operators.end-session': 'Ended one of their sessions',
    'operators.proof': 'Confirmed identity',
    'operators.proof-failed': 'Failed to confirm identity',
    'operators.remove-passkey': 'Removed passkey',
    'operators.set-up': 'Set up sign-in',
    'operators.sign-in': 'Signed in',
    'operators.sign-in-failed': 'Failed to sign in',
    'operators.sign-out': 'Signed out',
  },
  create(platform: Platform<OperatorsDb>) {
    const { config, secrets, appName, now } = platform
    const { sealKey, recoveryKey } = secrets
    const auditRetentionDays = config.auditKeepDays
    const operators = createOperators({ ...platform, sealKey, recoveryKey, auditRetentionDays })
    const consoleUrl = findConsoleUrl(config)
    const firstCommand = (isLocal: boolean) => formatFirstCommand(config, isLocal)
    return {
      services: { operators, consoleUrl },
      consoleRoutes: (context: ConsoleContext) =>
        new Elysia({ name: 'operators-console' })
          .use(
            signInConsole({
              operators,
              appName,
              baseUrl: config.baseUrl,
              firstCommand,
              now,
              ...context,
            }),
          )
          .use(auditConsole({ operators, ...context }))
          .use(viewsConsole(createViews(platform.db))),
      jobs: [
        {
          name: 'old audit entries',
          schedule: ['40 3 * * *'],
          run: operators.audit.sweep,
          deletesByAge: true,
        },
        {
          name: 'old console sessions',
          schedule: ['45 * * * *'],
          run: async () => {
            await operators.sessions.sweep()
            await operators.passkeys.sweep()
          },
          deletesByAge: true,
        },
      ],
    }
  },
} satisfies Feature
