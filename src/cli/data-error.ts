/** The data directory cannot be used; the message says why and what to do. */
export class DataError extends Error {
  override readonly name = 'DataError'
}
