import type { World } from './client.ts'
import type { Interface } from './generator.ts'

/** A server that runs. */
export type Contender = {
  name: string
  pid: number
  port: number
  /** How it hashes, syncs and converts, in one line. */
  about: string
  speaks: Interface
  /** Makes its people and pictures. */
  prepare: () => Promise<World>
  stop: () => Promise<void>
  /** What its database holds; to be called once it has stopped. */
  countStored: () => { events: number; uploads: number }
}

/** How much is stored before the load: people with a session and a line each, and pictures. */
export type Size = { people: number; pictures: number }
