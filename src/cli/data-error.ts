/** The data directory cannot be used; the message says why and what to do. */
export class DataError extends Error {
  override readonly name = 'DataError'
}

/** The two sides of a copy are not the same, and going on with it would not change that. */
export class CopyDiffers extends DataError {}

/** The database server does not answer, which may pass. */
export class DatabaseUnreachable extends DataError {}
