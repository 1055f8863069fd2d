import type { DataCommand, LocalCommand } from './command.ts'
import { eventsList, eventsShow } from './events.ts'
import { faqsExport, faqsImport, faqsList } from './faqs.ts'
import { health } from './health.ts'
import { init } from './init.ts'
import { migrateCommand } from './migrate.ts'
import { openapi } from './openapi.ts'
import { plansArchive, plansExport, plansImport, plansList } from './plans.ts'
import { ratesRefresh, ratesShow } from './rates.ts'
import { serve } from './serve.ts'
import { settingsGet, settingsSet } from './settings.ts'
import { version } from './version.ts'

/** Every command of `homeport`. */
export const commands: (DataCommand | LocalCommand)[] = [
  serve,
  init,
  migrateCommand,
  settingsGet,
  settingsSet,
  plansList,
  plansImport,
  plansExport,
  plansArchive,
  faqsList,
  faqsImport,
  faqsExport,
  ratesShow,
  ratesRefresh,
  eventsList,
  eventsShow,
  openapi,
  health,
  version,
]

/** Those that need the data: the server takes them over its socket. */
export const dataCommands = commands.filter((command): command is DataCommand => 'work' in command)
