import type { Tx } from '../../platform/db/db.ts'
import type { Feature, Platform, RouteContext } from '../../platform/feature.ts'
import type { PublicationsDb } from '../../platform/publications/schema.ts'
import { settingsActions } from './actions.ts'
import { settingsCommands } from './commands.ts'
import { settingsConsole } from './console.ts'
import { AppSettingsReply, appTags } from './model.ts'
import { settingsRoutes } from './routes.ts'
import { type SettingsDb, settingsTables } from './schema.ts'
import { createSettings } from './service.ts'

type Needs = {
  bumpVersion: (tx: Tx) => Promise<void>
  /** All plans: users keep archived ones. */
  listPlans: () => Promise<{ code: string; name: string }[]>
  /** Null for none. */
  findPlanCode: (userId: string) => Promise<string | null>
}

export const settingsFeature = {
  tables: settingsTables,
  commands: settingsCommands,
  actions: settingsActions,
  tags: appTags,
  clientModels: { AppSettings: AppSettingsReply, AppVersions: AppSettingsReply.properties.ios },
  create(platform: Platform<SettingsDb & PublicationsDb>, needs: Needs) {
    const { countryHeader } = platform.config
    const settings = createSettings({ ...platform, ...needs, countryHeader })
    return {
      services: { settings },
      routes: (context: RouteContext) =>
        settingsRoutes({ settings, countryHeader, ...needs, ...context }),
      consoleRoutes: () => settingsConsole({ settings }),
    }
  },
} satisfies Feature
