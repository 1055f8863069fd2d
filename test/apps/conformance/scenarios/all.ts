import type { Scenario } from '../types.ts'
import { CHANGE_SCENARIOS } from './changes.ts'
import { CONTENT_SCENARIOS } from './content.ts'
import { DATA_SCENARIOS } from './data.ts'
import { ERROR_SCENARIOS } from './errors.ts'
import { FLIGHT_SCENARIOS } from './flight.ts'
import { GUEST_SCENARIOS } from './guest.ts'
import { PURCHASE_SCENARIOS } from './purchases.ts'
import { SESSION_SCENARIOS } from './session.ts'
import { SIGN_IN_SCENARIOS } from './sign-in.ts'
import { STORAGE_SCENARIOS } from './storage.ts'

/** What every client does, in every language. */
export const SCENARIOS: Scenario[] = [
  ...SIGN_IN_SCENARIOS,
  ...GUEST_SCENARIOS,
  ...SESSION_SCENARIOS,
  ...ERROR_SCENARIOS,
  ...CONTENT_SCENARIOS,
  ...FLIGHT_SCENARIOS,
  ...DATA_SCENARIOS,
  ...PURCHASE_SCENARIOS,
  ...CHANGE_SCENARIOS,
  ...STORAGE_SCENARIOS,
]
