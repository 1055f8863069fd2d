import type { Columns } from './db/columns.ts'
import { keyCommands } from './encryption/commands.ts'
import type { Replays } from './encryption/replays.ts'
import { encryptionTables } from './encryption/schema.ts'
import { attachmentCommands } from './features/attachments/commands.ts'
import { attachmentTags } from './features/attachments/model.ts'
import { attachmentTables } from './features/attachments/schema.ts'
import { attachmentTimers } from './features/attachments/timers.ts'
import { attachmentGerman } from './features/attachments/translations.ts'
import { billingCommands } from './features/billing/commands.ts'
import { billingPlainPaths, billingTags } from './features/billing/model.ts'
import { billingTables } from './features/billing/schema.ts'
import { billingTimers } from './features/billing/timers.ts'
import { contentCommands } from './features/content/commands.ts'
import { contentTables } from './features/content/schema.ts'
import { operatorsCommands } from './features/operators/commands.ts'
import { operatorTables } from './features/operators/schema.ts'
import { operatorTimers } from './features/operators/timers.ts'
import { peopleCommands } from './features/people/commands.ts'
import { peoplePlainPaths, peopleTags } from './features/people/model.ts'
import { peopleTables } from './features/people/schema.ts'
import { peopleTimers } from './features/people/timers.ts'
import { peopleGerman } from './features/people/translations.ts'
import { plansCommands } from './features/plans/commands.ts'
import { planTables } from './features/plans/schema.ts'
import { ratesCommands } from './features/rates/commands.ts'
import { rateTables } from './features/rates/schema.ts'
import { rateTimers } from './features/rates/timers.ts'
import { settingsCommands } from './features/settings/commands.ts'
import { appTags } from './features/settings/model.ts'
import { settingsTables } from './features/settings/schema.ts'
import type { Recorder } from './history/recorder.ts'
import { historyTables } from './history/schema.ts'
import { httpGerman } from './http/translations.ts'
import type { KeyRing } from './lib/key-ring.ts'
import type { Timer } from './lib/timer.ts'
import type { Limits } from './limits/limits.ts'
import { limitTables } from './limits/schema.ts'
import { outboxTables } from './outbox/schema.ts'
import { publicationTables } from './publications/schema.ts'

export type Tables = ReturnType<typeof buildTables>

/** Every table, one line a feature. Ids are UUIDv7 text made by the program. */
export function buildTables(columns: Columns) {
  const people = peopleTables(columns)
  return {
    ...people,
    ...attachmentTables(columns, people.users),
    ...billingTables(columns),
    ...settingsTables(columns),
    ...planTables(columns),
    ...contentTables(columns),
    ...rateTables(columns),
    ...operatorTables(columns),
    ...publicationTables(columns),
    ...historyTables(columns),
    ...outboxTables(columns, people.users),
    ...limitTables(columns),
    ...encryptionTables(columns),
  }
}

type TimersDeps = Parameters<typeof peopleTimers>[0] &
  Parameters<typeof attachmentTimers>[0] &
  Parameters<typeof billingTimers>[0] &
  Parameters<typeof rateTimers>[0] &
  Parameters<typeof operatorTimers>[0] & {
    encryptionKeys: KeyRing
    signingKeys: KeyRing
    limits: Limits
    recorder: Recorder
    replays: Replays
    db: { emptyLog: () => Promise<void> }
  }

/** Everything that runs by itself. */
export function timersOf(services: TimersDeps): Timer[] {
  const { encryptionKeys, signingKeys, limits, recorder, replays, db } = services
  return [
    ...peopleTimers(services),
    ...attachmentTimers(services),
    ...billingTimers(services),
    ...rateTimers(services),
    ...operatorTimers(services),
    { name: 'sealed requests', schedule: ['*/10 * * * *'], run: replays.sweep, deletesByAge: true },
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
  ...peopleCommands,
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
export const translations = { de: { ...httpGerman, ...peopleGerman, ...attachmentGerman } }

/** How the document describes the tags of the routes. */
export const tags = {
  ...peopleTags,
  ...attachmentTags,
  ...appTags,
  ...billingTags,
}

/** Paths that take plain requests where payloads must be sealed: pages, the webhook, what holds no secret. */
export const plainPaths = [...peoplePlainPaths, ...billingPlainPaths]
