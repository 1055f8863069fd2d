/** The options of one call; they override the client's. */
export type CallOptions = {
  /** Cancels the call: it fails immediately with code `aborted`. */
  signal?: AbortSignal | undefined
  /** Milliseconds until the call fails with code `timeout`; `Infinity` for no limit. For an upload: the longest time without progress, per file. */
  timeout?: number | undefined
}

/** The same input, in which optional members may also be `undefined`. */
export type Input<T> = T extends (infer Item)[]
  ? Input<Item>[]
  : T extends object
    ? { [K in keyof T]: Input<T[K]> | (object extends Pick<T, K> ? undefined : never) }
    : T

/** Which page of a list to return. */
export type PageInput = {
  /** The maximum number of items to return: up to 100, 50 by default. */
  limit?: number | undefined
  /** `next` of the previous page. */
  after?: string | undefined
}

/** The language of a response. */
export type LanguageInput = {
  /** A language tag, used instead of the client's language. */
  lang?: string | undefined
}

/** A sentence to show to the user. */
export type Message = { message: string }
