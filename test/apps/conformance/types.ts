import type { FakeServerOptions, FakeUser } from '../../../src/client/testing/testing.ts'

/** A JSON value. In strings, `$name.member` stands for a value that an earlier step has saved. */
export type Json = unknown
export type JsonRecord = Record<string, Json>

/** The actions of an app, the server and the network, and the expected results. */
export type Scenario = {
  name: string
  /** The client's options; see the driver's command `create` in `protocol.ts`. */
  options?: JsonRecord
  server?: ServerSetup
  steps: Step[]
}

export type ServerSetup = Omit<FakeServerOptions, 'url' | 'now'> & { users?: FakeUser[] }

/**
 * Expected values are compared partially: unnamed members may have any value, null equals absent, and lists must have
 * the same length. `{ $any: true }`: anything but null; `{ $not: x }`: anything but x; `{ $matches: 'x' }`: a string
 * that matches a regular expression; `{ $length: n }`: a list of n items.
 */
type Outcome = {
  gives?: Json
  fails?: { code: string; status?: number } & JsonRecord
  /** The name for the result, so that later steps can use `$name`. */
  save?: string
}

type Call = {
  call: string
  with?: JsonRecord
  /** Milliseconds, for this call. */
  timeout?: number
}

/** `in`: another process of the app with the same storage. */
export type Step = { in?: string } & (
  | (Call & Outcome)
  /** Starts a call that continues during the next steps. */
  | (Call & { start: string })
  | ({ wait: string } & Outcome)
  | { cancel: string }
  /** Waits until the client sets a timer of exactly this many ms, and moves both clocks to its end. */
  | { timer: number }
  /** Moves the clocks of server and device. */
  | { advance: number }
  /** The user sets the device's clock to this many ms off the right time. */
  | { setClock: number }
  /** Ends the process (if it still runs), and starts another one, with additional options. */
  | { restart: true | JsonRecord }
  | { dieAtWrite: { key: string; when: 'before' | 'after'; n?: number } }
  /** Waits for the end of the process by `dieAtWrite`. */
  | { dies: true }
  | { failStorage: 'read' | 'write' | 'none' }
  /** The value that the device has stored under a key; null: nothing. */
  | { stored: string; is: Json }
  /** Replaces the stored text, or one member (a path with dots) of its JSON, which is removed if there is no value. */
  | { edit: string; member?: string; value?: Json }
  /** Keeps the text that is stored under a key, as a variable. */
  | { copy: string; save: string }
  | { fault: Fault }
  /** Ends all faults. */
  | { repair: true }
  /** Sends the replies that `hold` keeps back. */
  | { release: string }
  /** Waits until a `hold` keeps back that many requests (1 by default). */
  | { holding: string; count?: number }
  /** All requests since the last such step, in order; `any`: any requests. */
  | { sent: (string | SentMatch)[] | 'any' }
  /** The number of these requests by route, in any order. */
  | { counts: Record<string, number> }
  | { listen: 'authChange' | 'change' | 'purchaseResult' }
  | { unlisten: 'authChange' | 'change' | 'purchaseResult' }
  /** The next event of that name. */
  | { event: { event: string } & JsonRecord }
  | { noEvent: string }
  /** The progress of an upload: rising, up to its end. */
  | { progressed: true }
  /** A function of the server. With `gives`, waits until it returns that. */
  | { server: string; args?: Json[]; gives?: Json; save?: string }
)

/** A request that was sent, compared partially. Null in `headers`: the header is absent. */
export type SentMatch = {
  request: string
  query?: JsonRecord
  headers?: Record<string, Json>
  body?: Json
  files?: Json
}

/** How a request fails. Without `tookEffect`, the server does not execute a request that fails. */
export type Fault = {
  /** An operation such as `readProfile`, a route such as `GET /api/user/profile/v1`, or `*`. */
  target: string
  /** How many requests fail; 1 by default. */
  times?: number | 'forever'
  /** How many requests pass before the first fault. */
  skip?: number
  tookEffect?: boolean
  /** The reply waits for a step `release`, even a reply without a fault. */
  hold?: string
  /** The server executes the request only after the `release`. */
  before?: true
  /** An error of the server. */
  code?: string
  status?: number
  message?: string
  details?: { path: string; message: string }[]
  retryAfter?: number
  /**
   * The connection ends within the reply (`lost`: after the request took effect) or before it (`refused`), or there is
   * no reply (`silent`), or one whose body does not end (`stalled`).
   */
  network?: 'lost' | 'cut' | 'refused' | 'silent' | 'stalled'
  /** A page of a proxy, with this status. */
  html?: number
  /** Any reply. */
  reply?: { status?: number; headers?: Record<string, string>; body: Json }
  /** A proxy that removes the token. */
  withoutToken?: true
}
