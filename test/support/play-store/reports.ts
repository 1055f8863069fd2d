import type { DeveloperNotification } from './formats.ts'
import type { createPlayWorld } from './world.ts'

export type PlayWorld = Awaited<ReturnType<typeof createPlayWorld>>

/** Waits until Google has been queried about all due purchases. */
export async function drain({ app }: Pick<PlayWorld, 'app'>) {
  await app.services.stores.play?.queue.flush()
}

/** Delivers notifications in order, and waits after each until Google has been queried. */
export async function report(world: PlayWorld, ...notifications: (DeveloperNotification | null)[]) {
  for (const notification of notifications) {
    await world.push(notification)
    await drain(world)
    // Google is queried about a purchase at most once a millisecond.
    world.app.clock.advance(1)
  }
}

/** Advances the clock, then queries Google about the purchases that are due by then. */
export async function advance(world: PlayWorld, ms: number) {
  world.app.clock.advance(ms)
  await drain(world)
}

/** Records the refunds that Google lists. Returns how many there were. */
export async function catchUp({ app }: Pick<PlayWorld, 'app'>) {
  return app.services.stores.play?.voided.catchUp()
}

/** The events in the log of a server, oldest first. */
export async function listEvents({ app }: Pick<PlayWorld, 'app'>) {
  const { db } = app.services
  const { billingEvents } = db.tables
  const rows = await db.read.select().from(billingEvents)
  return rows.map(({ type, outcome, error, duplicates, body }) => ({
    type,
    outcome,
    error,
    duplicates,
    body: Buffer.from(body).toString(),
  }))
}
