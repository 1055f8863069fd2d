import type { AppFunctions } from './app-data.ts'
import type { BillingFunctions } from './billing.ts'
import type { Caller } from './caller.ts'
import type { Calls } from './calls.ts'
import type { RunCall } from './deadline.ts'
import type { Fetch } from './fetch.ts'
import type { Session } from './models.ts'
import { createPart } from './part.ts'
import type { SessionKeeper } from './session.ts'
import type { Storage } from './storage.ts'
import { withTabLock } from './tabs.ts'
import type { UserFunctions } from './users.ts'

type PartsDeps = {
  storage: Storage
  baseUrl: string
  env: string
  fetch: Fetch | undefined
  timeout: number
  now: () => number
  /** A caller that keeps no responses. */
  request: Caller
  call: Caller
  calls: Calls
  session: SessionKeeper
  runCall: RunCall
  exchangeRefreshToken: (refreshToken: string) => Promise<Session>
  /** Names the locks of all tabs that share the storage. */
  sharedName: string
  onAuthChange: UserFunctions['onAuthChange']
  signingKeys: string[] | undefined
  functions: () => UserFunctions & BillingFunctions & AppFunctions
}

/** The parts that an app does not need for its first screen: each is loaded at first use. */
export function createParts(deps: PartsDeps) {
  const { calls, functions, sharedName } = deps
  const { withToken } = calls
  return {
    auth: createPart(async () => {
      const { createAuth } = await import('./auth.ts')
      const exclusively = <T>(work: () => Promise<T>) => withTabLock(`${sharedName} guest`, work)
      return createAuth({ ...deps, exclusively })
    }),
    attachments: createPart(async () => {
      const { createAttachmentCalls } = await import('./attachment-calls.ts')
      return createAttachmentCalls({ ...deps, withToken, isSealed: deps.env !== 'test' })
    }),
    changes: createPart(async () => {
      const { createChanges } = await import('./changes.ts')
      return createChanges({ ...deps, withToken })
    }),
    purchases: createPart(async () => {
      const { createPurchaseQueue } = await import('./purchase-queue.ts')
      return createPurchaseQueue({ ...deps, withToken })
    }),
    kept: createPart(async () => {
      const { createKept } = await import('./kept.ts')
      return createKept({ ...deps, call: deps.request, functions: functions() })
    }),
  }
}
