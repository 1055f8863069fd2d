import { expect, test } from 'bun:test'
import { createAlerts } from '../../../src/features/alerts/service.ts'
import { createTestApp } from '../../support/app.ts'

const MINUTE = 60_000
const DISK = 'homeport_disk_free_bytes'

/** Two instances that share the state of the alerts but not a disk. */
async function setUp() {
  const app = await createTestApp()
  const { db, log } = app.services
  const sent: string[] = []
  const free = [50e9, 50e9]
  const instances = free.map((_, at) =>
    createAlerts({
      db,
      readMetric: async (name) => (name === DISK ? [{ labels: {}, value: free[at] ?? 0 }] : []),
      alertOperators: async (_tx, subject) => void sent.push(subject),
      announce: async () => {},
      hasAddress: true,
      now: () => app.clock.now,
      log,
    }),
  )
  return { app, free, pass, [Symbol.asyncDispose]: app[Symbol.asyncDispose] }

  /** Both measure each minute, in changing order. Returns the subjects of what was sent. */
  async function pass(minutes: number) {
    for (let minute = 0; minute < minutes; minute++) {
      app.clock.advance(MINUTE)
      for (const one of minute % 2 === 0 ? instances : instances.toReversed()) await one.evaluate()
    }
    return sent.splice(0)
  }
}

test('an alert about one of two instances fires once and is resolved once', async () => {
  await using it = await setUp()
  it.free[1] = 0
  expect(await it.pass(10)).toEqual([])
  expect(await it.pass(1)).toEqual(['The disk is almost full (0 MB free)'])
  expect(await it.pass(60)).toEqual([])
  it.free[1] = 50e9
  expect(await it.pass(4)).toEqual([])
  expect(await it.pass(10)).toEqual(['Resolved: The disk is almost full'])
  expect(await it.pass(60)).toEqual([])
})

test('an alert goes on while it concerns the other instance', async () => {
  await using it = await setUp()
  it.free[0] = 0
  expect(await it.pass(12)).toEqual(['The disk is almost full (0 MB free)'])
  it.free[1] = 0
  await it.pass(2)
  it.free[0] = 50e9
  expect(await it.pass(30)).toEqual([])
})
