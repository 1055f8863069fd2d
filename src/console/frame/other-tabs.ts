import { tryTo } from '../../lib/errors.ts'

/** Tells this browser's other tabs that an operator has signed in or out. Null where the browser blocks cookies. */
export const otherTabs = tryTo(() => new BroadcastChannel('homeport-console')) ?? null
