import type { FakeServerOptions, FakeUser } from '../../../src/client/testing/testing.ts'

/** A value of JSON. In texts, `$name.member` stands for what an earlier step has saved. */
export type Json = unknown
export type JsonRecord = Record<string, Json>

/** What an app does, what the server and the network do, and what must be seen. */
export type Scenario = {
  name: string
  /** Of the client; see the driver's command `create` in `protocol.ts`. */
  options?: JsonRecord
  server?: ServerSetup
  steps: Step[]
}

export type ServerSetup = Omit<FakeServerOptions, 'url' | 'now'> & { users?: FakeUser[] }

/**
 * What is expected is compared in part: members that it does not name may have any value, null equals absent, and
 * lists have the same length. `{ $any: true }`: anything but null; `{ $not: x }`: anything else; `{ $matches: 'x' }`: a
 * text by a regular expression; `{ $length: n }`: the length of a list.
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
  /** Begins a call, which goes on during the next steps. */
  | (Call & { start: string })
  | ({ wait: string } & Outcome)
  | { cancel: string }
  /** Waits until the client sets a timer of exactly this many ms, and moves both clocks to its end. */
  | { timer: number }
  /** Moves the clocks of server and device. */
  | { advance: number }
  /** The user sets the device's clock, this many ms away from the right time. */
  | { setClock: number }
  /** Ends the process (if it still runs), and starts another one, with further options. */
  | { restart: true | JsonRecord }
  | { dieAtWrite: { key: string; when: 'before' | 'after'; n?: number } }
  /** Waits for the end of the process by `dieAtWrite`. */
  | { dies: true }
  | { failStorage: 'read' | 'write' | 'none' }
  /** What the device has stored under a key; null: nothing. */
  | { stored: string; is: Json }
  /** Replaces what is stored: the text, or one member (a path with dots) of its JSON, which is removed without a value. */
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
  /** All requests since the last such step, in order; `any`: whatever they were. */
  | { sent: (string | SentMatch)[] | 'any' }
  /** The same as numbers by route, whatever the order. */
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

/** A request that was sent; it must have everything that is named here. Null in `headers`: without it. */
export type SentMatch = {
  request: string
  query?: JsonRecord
  headers?: Record<string, Json>
  body?: Json
  files?: Json
}

/** How a request fails. Without `tookEffect`, the server does not carry out a request that fails. */
export type Fault = {
  /** An operation such as `readProfile`, a route such as `GET /api/user/profile/v1`, or `*`. */
  target: string
  /** How many requests; 1 by default. */
  times?: number | 'forever'
  /** How many requests pass before. */
  skip?: number
  tookEffect?: boolean
  /** The reply waits for a step `release`, also one that is as it should be. */
  hold?: string
  /** Until then, the server has not carried it out. */
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
