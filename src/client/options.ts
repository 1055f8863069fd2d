import type { AppContext } from './context-headers.ts'
import type { Fetch } from './fetch.ts'
import type { Storage } from './storage.ts'

/** The options of `createClient`; only `baseUrl` is required. */
export type ClientOptions = {
  /** The server's URL, such as `https://api.example.com`. */
  baseUrl: string
  /** `test` (the default) sends plain JSON; any other value, such as `production`, seals payloads. */
  env?: string | null | undefined
  /** Thumbprints of the server keys to trust, as `homeport keys list` prints them. */
  pinnedKeys?: string[] | undefined
  /** Where to keep the session; in memory by default, or if the browser has or allows no storage. */
  storage?: Storage | null | undefined
  /** Where to keep the last responses for offline use; `storage` by default. Set it if `storage` is a keychain, which is small. */
  offlineStorage?: Storage | null | undefined
  /** Thumbprints of the server's signing keys, as `homeport keys list` prints them: kept access must be signed with one of them. */
  signingKeys?: string[] | undefined
  /** A name by which users recognize this device. */
  device?: string | undefined
  /** The installed app, for settings that depend on it. `isUpdateRequired` takes the same object. */
  app?: AppContext | undefined
  /** Languages as in `Accept-Language`; the platform's by default. */
  language?: string | undefined
  /** Milliseconds until a call fails with `timeout`; 30,000 by default, `Infinity` for no limit. For an upload: the longest time without progress, per file. */
  timeout?: number | undefined
  /** Called when the server has ended the session. */
  onSignedOut?: (() => void) | undefined
  /** Replaces the platform's `fetch`, for example in tests. */
  fetch?: Fetch | undefined
  /** Replaces the platform's clock in tests. Returns ms since 1970. */
  now?: (() => number) | undefined
}
