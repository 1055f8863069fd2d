import type { DataCommand } from './command.ts'
import {
  eventsList,
  eventsRebuild,
  eventsReconcile,
  eventsReplay,
  eventsShow,
  userSubscription,
} from './events.ts'
import { faqsExport, faqsImport, faqsList } from './faqs.ts'
import { keysList, keysRotate } from './keys.ts'
import { openapi } from './openapi.ts'
import { plansArchive, plansExport, plansImport, plansList } from './plans.ts'
import { ratesRefresh, ratesShow } from './rates.ts'
import { settingsGet, settingsSet } from './settings.ts'

/** Commands that need the data: a running server takes them over its socket. */
export const dataCommands: DataCommand[] = [
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
  eventsReplay,
  eventsRebuild,
  eventsReconcile,
  userSubscription,
  keysList,
  keysRotate,
  openapi,
]
