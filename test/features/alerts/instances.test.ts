import { expect, test } from 'bun:test'
import { createAlerts } from '../../../src/features/alerts/service.ts'
import { conditions } from '../../../src/server/declarations.ts'
import { createTestApp } from '../../support/app.ts'

const MINUTE = 60_000
const DISK = 'homeport_disk_free_bytes'

/** Two instances that share the state of the alerts but not a disk. */
async function setUp() {
  const app = await createTestApp()
  const { db, log } = app.services
  const sent: string[] = []
  const free: (number | null)[] = [50e9, 50e9]
  /** Called while an instance measures. */
  const interrupt: (() => Promise<void>)[] = []
  let moments = 0
  const instances = free.map((_, at) =>
    createAlerts({
      db,
      async readMetric(name) {
        if (name !== DISK) return []
        await interrupt[at]?.()
        const value = free[at]
        if (value == null) throw new Error('the disk does not respond')
        return [{ labels: {}, value }]
      },
      conditions,
      alertOperators: async (_tx, subject) => void sent.push(subject),
      announce: async () => {},
      hasAddress: true,
      // Each call returns a different time.
      now: () => new Date(app.clock.now.getTime() + moments++),
      log,
    }),
  )
  return {
    app,
    free,
    instances,
    interrupt,
    advance,
    [Symbol.asyncDispose]: app[Symbol.asyncDispose],
  }

  /** Evaluates both once a minute, in alternating order. Returns the subjects of the alerts that were sent. */
  async function advance(minutes: number) {
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
  expect(await it.advance(10)).toEqual([])
  expect(await it.advance(1)).toEqual(['The disk is almost full (0 MB free)'])
  expect(await it.advance(60)).toEqual([])
  it.free[1] = 50e9
  expect(await it.advance(4)).toEqual([])
  expect(await it.advance(10)).toEqual(['Resolved: The disk is almost full'])
  expect(await it.advance(60)).toEqual([])
})

test('an alert keeps firing while the other instance meets its condition', async () => {
  await using it = await setUp()
  it.free[0] = 0
  expect(await it.advance(12)).toEqual(['The disk is almost full (0 MB free)'])
  it.free[1] = 0
  await it.advance(2)
  it.free[0] = 50e9
  expect(await it.advance(30)).toEqual([])
})

test('an alert fires even if another instance meets its condition only now and then', async () => {
  await using it = await setUp()
  it.free[0] = 0
  const sent: string[] = []
  for (let minute = 0; minute < 12; minute++) {
    it.free[1] = minute % 2 === 0 ? 0 : 50e9
    sent.push(...(await it.advance(1)))
  }
  expect(sent).toEqual(['The disk is almost full (0 MB free)'])
})

test('an alert keeps firing while its value cannot be measured', async () => {
  await using it = await setUp()
  it.free.fill(0)
  expect(await it.advance(12)).toHaveLength(1)
  it.free.fill(null)
  expect(await it.advance(30)).toEqual([])
})

test('an alert fires even if the other instance always stores its values first', async () => {
  await using it = await setUp()
  const { app, free, instances, interrupt } = it
  free[1] = 0
  interrupt[1] = async () => {
    free[0] = (free[0] ?? 0) - 1
    await instances[0]?.evaluate()
  }
  for (let minute = 0; minute < 12; minute++) {
    app.clock.advance(MINUTE)
    await instances[1]?.evaluate()
  }
  interrupt.length = 0
  expect(await it.advance(0)).toEqual(['The disk is almost full (0 MB free)'])
})

test('a condition that holds only every other minute fires no alert', async () => {
  await using it = await setUp()
  for (let minute = 0; minute < 30; minute++) {
    it.free[0] = minute % 2 === 0 ? 0 : 50e9
    expect(await it.advance(1)).toEqual([])
  }
})
