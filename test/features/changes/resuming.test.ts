import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createChanges } from '../../../src/features/changes/service.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { cases } from '../../support/cases.ts'
import { openStream } from '../../support/event-stream.ts'
import { yieldToEventLoop } from '../../support/until.ts'

const KINDS = ['subscription', 'profile', 'data', 'settings'] as const
type Kind = (typeof KINDS)[number]
type Connection = Awaited<ReturnType<typeof openStream>>

/** Clocks of instances differ, and a change becomes visible some time after it got its id. */
const SKEWS_MS = [-30_000, 30_000]
const MAX_COMMIT_MS = 20_000
const MAX_PAUSE_MS = 200_000

const instance = fc.nat({ max: SKEWS_MS.length - 1 })
const step = fc.oneof(
  fc.record({
    type: fc.constant('change' as const),
    kind: fc.constantFrom(...KINDS),
    by: instance,
    commit: fc.nat({ max: MAX_COMMIT_MS }),
  }),
  fc.record({ type: fc.constant('advance' as const), ms: fc.nat({ max: MAX_PAUSE_MS }) }),
  fc.record({ type: fc.constant('connect' as const), to: instance }),
  fc.record({ type: fc.constant('read' as const) }),
  fc.record({ type: fc.constant('lose' as const) }),
)

test('an app eventually learns of every change, whenever the connection is lost', async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const world = await createWorld(app)
      for (const one of steps) {
        if (one.type === 'change') await world.change(one.kind, one.by, one.commit)
        else if (one.type === 'advance') world.advance(one.ms)
        else if (one.type === 'connect') await world.connect(one.to)
        else if (one.type === 'read') await world.read()
        else await world.lose()
      }
      await world.connect(0)
      await world.read()
      await world.lose()
      expect(world.unseen()).toEqual([])
    }),
    { numRuns: cases(60, 2_000) },
  )
}, 60_000)

/** One user's app, and two instances whose clocks differ. */
async function createWorld(app: TestApp) {
  const { db, log } = app.services
  const { accessToken: token, user } = await app.register()
  let at = Date.now()
  let lag = 0
  const instances = SKEWS_MS.map((skew) =>
    createChanges({
      db: { ...db, isShared: false },
      newId: () => idAt(at + skew - lag),
      log,
      activeSessions: async (ids) => ids,
    }),
  )
  const unseen = new Set<Kind>()
  let connection: Connection | null = null
  let lastEventId: string | null = null
  let seen = 0
  return { change, advance, connect, read, lose, unseen: () => [...unseen] }

  async function change(kind: Kind, by: number, commit: number) {
    const changes = instances[by]
    lag = commit
    await db.write(async (tx) => {
      if (kind === 'settings') await changes?.recordForAll(tx, kind)
      else await changes?.record(tx, user._id, kind)
    })
    lag = 0
    unseen.add(kind)
  }

  function advance(ms: number) {
    at += ms
  }

  async function connect(to: number) {
    await lose()
    const ask = async (request: Request) => {
      const id = request.headers.get('last-event-id')
      const session = { userId: user._id, sessionId: 'this session' }
      return new Response(await instances[to]?.open(session, id, request.signal))
    }
    seen = 0
    connection = await openStream(ask, token, { lastEventId })
  }

  /** Handles every event that has arrived. An app without an id reads everything. */
  async function read() {
    if (connection === null) return
    await connection.next('ready')
    await yieldToEventLoop()
    for (const { name, id } of connection.events.slice(seen)) {
      if (name === 'ready' && lastEventId === null) unseen.clear()
      else unseen.delete(name as Kind)
      lastEventId = id
      seen++
    }
  }

  /** Whatever the app has not read is lost. */
  async function lose() {
    await connection?.close()
    connection = null
  }
}

/** A UUIDv7 of this time. */
function idAt(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}${crypto.randomUUID().slice(13).replace(/^-4/, '-7')}`
}
