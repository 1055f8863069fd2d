import type { Json, JsonRecord } from './types.ts'

/**
 * A driver is a program around one client: it reads commands as lines of JSON, and writes answers and events as lines
 * of JSON. It never uses the real clock, and `random()` of its client is always 0.5. At the end of the input it exits
 * with 0.
 */
export type Command = { id: number } & (
  | {
      do: 'create'
      baseUrl: string
      /** The folder of the client's storage: one file per key, named after the key, and replaced atomically. */
      folder: string
      /** The time of the clock, in ms since 1970. */
      now: number
      options: Partial<DriverOptions>
    }
  /**
   * Calls the client's function of this name; other calls may be running. `args`: the members of the TypeScript
   * client's input, except for these functions: `readKept` has `{ name, lang }`, `replaceData` and `patchData` have
   * `{ data, version }`, `findRate` has `{ rates, currency }`, `isUpdateRequired` and `isUpdateAvailable` have
   * `{ settings }`, `queuePurchase` has `{ purchase }`; the files of `uploadAttachments` have a `path`. The answer is
   * the result of the TypeScript function as JSON; null and absent members are the same.
   */
  | { do: 'call'; fn: string; args: JsonRecord; timeout?: number }
  | { do: 'cancel'; call: number }
  /** Moves the clock, and fires due timers in order. */
  | { do: 'advance'; ms: number }
  /** The user sets the clock: timers and the elapsed time do not change. */
  | { do: 'setClock'; now: number }
  | { do: 'listen' | 'unlisten'; to: Listened }
  | { do: 'failStorage'; on: 'read' | 'write' | 'none' }
  /** Exits with 9 right before or after the n-th write of this key from now on. */
  | { do: 'dieAtWrite'; key: string; when: 'before' | 'after'; n: number }
  /** Seals a request for a server's key, as `{ message, jti, replyKey }`. Bytes are base64url. */
  | { do: 'seal'; jwk: JsonRecord; request: SealedContent; now: number }
  /** Opens a reply, as `{ body }`; `reply_invalid` if it is not the server's. */
  | { do: 'open'; message: string; status: number; jti: string; replyKey: string }
)

export type SealedContent = {
  method: string
  target: string
  token: string | null
  contentType: string | null
  body: string
}

export type Listened = 'authChange' | 'change' | 'purchaseResult'

type DriverOptions = {
  env: string
  pinnedKeys: string[]
  device: string
  language: string
  deviceId: string
  version: string
  buildNumber: number
  platform: string
  timeout: number
  signingKeys: string[]
}

/** The answer to a command. An `error` is an `ApiError`. */
export type Answer = { id: number; ok?: Json; error?: JsonRecord }

/** An event that is not the answer to a command. */
export type DriverEvent =
  /** The client sets a timer: for a delay, or for the timeout of a call. */
  | { event: 'timer'; ms: number }
  | { event: 'authChange'; reason: string; isSignedIn: boolean; userId: string | null }
  | { event: 'change'; kind: string }
  | { event: 'purchaseResult'; purchase: JsonRecord; result: JsonRecord }
  | { event: 'progress'; sent: number; total: number }
  /** The server has ended the session. */
  | { event: 'signedOut' }
