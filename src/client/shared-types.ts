/** The options of one call; they override the client's. */
export type CallOptions = {
  /** Cancels the call: it fails at once with code `aborted`. */
  signal?: AbortSignal | undefined
  /** Milliseconds until the call fails with code `timeout`; `Infinity` for no limit. For an upload: milliseconds without progress, times the number of files. */
  timeout?: number | undefined
}

/** Which page of a list to return. */
export type PageInput = {
  /** The maximum number of items to return: up to 100, 50 by default. */
  limit?: number
  /** `next` of the previous page. */
  after?: string
}

/** The language of a response. */
export type LanguageInput = {
  /** A language tag, used instead of the client's language. */
  lang?: string
}

/** A sentence to show to the user. */
export type Message = { message: string }
