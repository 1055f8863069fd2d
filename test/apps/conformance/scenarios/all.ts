import type { Scenario } from '../types.ts'
import { CHANGE_SCENARIOS } from './changes.ts'
import { CONTENT_SCENARIOS } from './content.ts'
import { DATA_SCENARIOS } from './data.ts'
import { ERROR_SCENARIOS } from './errors.ts'
import { FLIGHT_SCENARIOS } from './flight.ts'
import { GUEST_SCENARIOS } from './guest.ts'
import { OTHER_SIGN_IN_SCENARIOS } from './other-sign-in.ts'
import { PROCESS_SCENARIOS } from './processes.ts'
import { QUEUE_SCENARIOS } from './purchase-queue.ts'
import { PURCHASE_SCENARIOS } from './purchases.ts'
import { SESSION_SCENARIOS } from './session.ts'
import { SIGN_IN_SCENARIOS } from './sign-in.ts'
import { SIGN_OUT_SCENARIOS } from './sign-out.ts'
import { STORAGE_SCENARIOS } from './storage.ts'

/** The behaviour of every client, in every language. */
export const SCENARIOS: Scenario[] = [
  ...SIGN_IN_SCENARIOS,
  ...OTHER_SIGN_IN_SCENARIOS,
  ...GUEST_SCENARIOS,
  ...SESSION_SCENARIOS,
  ...PROCESS_SCENARIOS,
  ...SIGN_OUT_SCENARIOS,
  ...ERROR_SCENARIOS,
  ...CONTENT_SCENARIOS,
  ...FLIGHT_SCENARIOS,
  ...DATA_SCENARIOS,
  ...PURCHASE_SCENARIOS,
  ...QUEUE_SCENARIOS,
  ...CHANGE_SCENARIOS,
  ...STORAGE_SCENARIOS,
]
