/** What has changed; newer servers may send kinds that this client does not know. */
export type Change = {
  kind: 'subscription' | 'profile' | 'data' | 'settings' | (string & {})
}

/** The stream of changes. */
export type ChangeFunctions = {
  /**
   * Calls `listener` with each kind once at the start, and then whenever something of that kind may have changed on the
   * server: read it again. Keeps a connection open while a user is signed in. Returns a function that stops it.
   */
  onChange: (listener: (change: Change) => void) => () => void
}
