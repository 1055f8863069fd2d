import type { World } from './client.ts'
import type { ApiName } from './generator.ts'

/** A running server that takes part in the comparison. */
export type Contender = {
  name: string
  pid: number
  port: number
  /** A one-line summary of its hashing, syncing and conversion. */
  about: string
  apiName: ApiName
  /** Creates its users and images. */
  prepare: () => Promise<World>
  stop: () => Promise<void>
  /** The database's row counts; call it once the server has stopped. */
  countStored: () => { events: number; uploads: number }
}

/** The data stored before the load: users with a session and a purchase each, and images. */
export type Size = { users: number; pictures: number }
