import type { KeyRing } from '../lib/key-ring.ts'
import type { Timer } from '../lib/timer.ts'
import type { Columns } from '../platform/db/columns.ts'
import { keyCommands } from '../platform/encryption/commands.ts'
import type { ReplayGuard } from '../platform/encryption/replay-guard.ts'
import { encryptionTables } from '../platform/encryption/schema.ts'
import type { Recorder } from '../platform/history/recorder.ts'
import { historyTables } from '../platform/history/schema.ts'
import { httpGerman } from '../platform/http/translations.ts'
import type { Limits } from '../platform/limits/limits.ts'
import { limitTables } from '../platform/limits/schema.ts'
import { outboxTables } from '../platform/outbox/schema.ts'
import { publicationTables } from '../platform/publications/schema.ts'
import { attachmentCommands } from './attachments/commands.ts'
import { attachmentTags } from './attachments/model.ts'
import { attachmentTables } from './attachments/schema.ts'
import { attachmentTimers } from './attachments/timers.ts'
import { attachmentGerman } from './attachments/translations.ts'
import { billingCommands } from './billing/commands.ts'
import { billingPlainPaths, billingTags } from './billing/model.ts'
import { billingTables } from './billing/schema.ts'
import { billingTimers } from './billing/timers.ts'
import { contentCommands } from './content/commands.ts'
import { contentTables } from './content/schema.ts'
import { operatorsCommands } from './operators/commands.ts'
import { operatorTables } from './operators/schema.ts'
import { operatorTimers } from './operators/timers.ts'
import { plansCommands } from './plans/commands.ts'
import { planTables } from './plans/schema.ts'
import { ratesCommands } from './rates/commands.ts'
import { rateTables } from './rates/schema.ts'
import { rateTimers } from './rates/timers.ts'
import { settingsCommands } from './settings/commands.ts'
import { appTags } from './settings/model.ts'
import { settingsTables } from './settings/schema.ts'
import { userCommands } from './users/commands.ts'
import { userPlainPaths, userTags } from './users/model.ts'
import { userTables } from './users/schema.ts'
import { userTimers } from './users/timers.ts'
import { userGerman } from './users/translations.ts'

export type Tables = ReturnType<typeof buildTables>

/** Every table, one line a feature. Ids are UUIDv7 text made by the program. */
export function buildTables(columns: Columns) {
  const accounts = userTables(columns)
  return {
    ...accounts,
    ...attachmentTables(columns, accounts.users),
    ...billingTables(columns),
    ...settingsTables(columns),
    ...planTables(columns),
    ...contentTables(columns),
    ...rateTables(columns),
    ...operatorTables(columns),
    ...publicationTables(columns),
    ...historyTables(columns),
    ...outboxTables(columns, accounts.users),
    ...limitTables(columns),
    ...encryptionTables(columns),
  }
}

type TimersDeps = Parameters<typeof userTimers>[0] &
  Parameters<typeof attachmentTimers>[0] &
  Parameters<typeof billingTimers>[0] &
  Parameters<typeof rateTimers>[0] &
  Parameters<typeof operatorTimers>[0] & {
    encryptionKeys: KeyRing
    signingKeys: KeyRing
    limits: Limits
    recorder: Recorder
    replayGuard: ReplayGuard
    db: { emptyLog: () => Promise<void> }
  }

/** Everything that runs by itself. */
export function timersOf(services: TimersDeps): Timer[] {
  const { encryptionKeys, signingKeys, limits, recorder, replayGuard, db } = services
  return [
    ...userTimers(services),
    ...attachmentTimers(services),
    ...billingTimers(services),
    ...rateTimers(services),
    ...operatorTimers(services),
    {
      name: 'sealed requests',
      schedule: ['*/10 * * * *'],
      run: replayGuard.sweep,
      deletesByAge: true,
    },
    {
      name: 'old encryption keys',
      schedule: ['5 * * * *'],
      run: encryptionKeys.sweep,
      deletesByAge: true,
    },
    {
      name: 'old signing keys',
      schedule: ['6 * * * *'],
      run: signingKeys.sweep,
      deletesByAge: true,
    },
    // The newest sample tells the last known time: a clock in doubt must not write one.
    {
      name: 'samples',
      schedule: ['* * * * *'],
      run: recorder.flush,
      isEverywhere: true,
      deletesByAge: true,
    },
    { name: 'database log', schedule: ['27 * * * *'], run: db.emptyLog },
    { name: 'old limits', schedule: ['30 3 * * *'], run: limits.sweep, deletesByAge: true },
  ]
}

/** What operators type. */
export const commands = [
  ...userCommands,
  ...attachmentCommands,
  ...settingsCommands,
  ...plansCommands,
  ...contentCommands,
  ...ratesCommands,
  ...billingCommands,
  ...operatorsCommands,
  ...keyCommands,
]

/** What the document says of the interface as a whole. */
export const description = `Sign in under \`/api/auth\` and send the access token as \`Authorization: Bearer <token>\`.
Every reply is \`{ code, response }\` or \`{ code, message }\`, every failure \`{ code, message, requestId, details? }\`.
Every request takes the headers \`env\`, \`device\`, \`timezone\` and \`Accept-Language\`, which \`x-common-headers\` describes: set them once, as default headers of your client.
With a header \`env\` other than \`test\` requests and replies are sealed (JWE); these schemas are then what is inside.`

/** What people are told, by language. */
export const translations = { de: { ...httpGerman, ...userGerman, ...attachmentGerman } }

/** How the document describes the tags of the routes. */
export const tags = {
  ...userTags,
  ...attachmentTags,
  ...appTags,
  ...billingTags,
}

/** Paths that take plain requests where payloads must be sealed: pages, the webhook, what holds no secret. */
export const plainPaths = [...userPlainPaths, ...billingPlainPaths]
