import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConsumers, type QueueWorld } from '../support/queues.ts'
import { until } from '../support/until.ts'

const HOUR = 3_600_000
const SRC = join(import.meta.dir, '../../src')
/** The file that creates the queues for Google and Stripe. */
const SHARED = 'features/stores/queue/refresh-queue.ts'

const consumers = await loadConsumers()
const several = consumers.filter(({ slots }) => slots > 1)
const withKeys = consumers.filter(({ hasKeys }) => hasKeys)

test('every queue with leases is tested here', () => {
  const queues = [...new Bun.Glob('**/*.ts').scanSync(SRC)].filter(
    (path) =>
      path !== SHARED && /= create(Refresh)?Queue[<(]/.test(readFileSync(join(SRC, path), 'utf8')),
  )
  expect(consumers).toHaveLength(queues.length)
})

test.each(consumers)(
  '$name: takes over from a dead process once its lease has ended, but not before',
  async ({ open, leaseMs }) => {
    await using world = await open()
    const { app, there, here, gate, attempts } = world
    const name = await startOne(world)
    gate.leaveOpen()
    app.clock.advance(leaseMs - 1)
    await there.flush()
    expect(attempts()).toEqual([name])
    app.clock.advance(1)
    await there.flush()
    expect(attempts()).toEqual([name, name])
    // The late result of a process that was only frozen changes nothing.
    app.expectErrors()
    gate.open()
    await here.flush()
    await there.flush()
    expect(attempts()).toEqual([name, name])
  },
)

test.each(several)(
  '$name: a process starts no item twice when the clock jumps past the lease',
  async ({ open, leaseMs }) => {
    await using world = await open()
    const { app, here, gate, add, attempts } = world
    const name = await startOne(world)
    app.clock.advance(2 * leaseMs)
    const [other = ''] = await add(['one'])
    here.wake()
    await until(() => attempts().includes(other), 'the other item is not attempted')
    gate.open()
    await here.flush()
    expect(attempts()).toEqual([name, other])
  },
)

test.each(consumers)(
  '$name: frees the items that a dead process has leased when the clock is set back',
  async ({ open }) => {
    await using world = await open()
    const { app, there, gate, attempts } = world
    app.clock.advance(12 * HOUR)
    const name = await startOne(world)
    gate.leaveOpen()
    app.clock.advance(-12 * HOUR)
    await there.flush()
    expect(attempts()).toEqual([name])
    await there.repair()
    await there.flush()
    expect(attempts()).toEqual([name, name])
    app.expectErrors()
    gate.open()
  },
)

test.each(several)(
  '$name: leaves items in progress alone when the clock is set back',
  async ({ open }) => {
    await using world = await open()
    const { app, here, gate, add, attempts } = world
    app.clock.advance(12 * HOUR)
    const name = await startOne(world)
    app.clock.advance(-12 * HOUR)
    await here.repair()
    const [other = ''] = await add(['one'])
    here.wake()
    await until(() => attempts().includes(other), 'the other item is not attempted')
    gate.open()
    await here.flush()
    expect(attempts()).toEqual([name, other])
  },
)

test.each(consumers)(
  '$name: retries items immediately that were deferred while the clock was hours ahead',
  async ({ open }) => {
    await using world = await open()
    const { app, here, add, attempts, failNext } = world
    app.clock.advance(12 * HOUR)
    failNext()
    const [name = ''] = await add(['one'])
    await here.flush()
    app.clock.advance(-12 * HOUR)
    await here.flush()
    expect(attempts()).toEqual([name])
    await here.repair()
    await here.flush()
    expect(attempts()).toEqual([name, name])
  },
)

test.each(consumers)('$name: a stopping process releases what it aborts', async ({ open }) => {
  await using world = await open()
  const { here, there, gate, attempts } = world
  const name = await startOne(world)
  gate.leaveOpen()
  await here.stop(0)
  await there.flush()
  expect(attempts()).toEqual([name, name])
  gate.open()
})

test.each(consumers)(
  '$name: attempts an item again if it was changed during its attempt',
  async ({ open }) => {
    await using world = await open()
    const { here, there, gate, change, attempts } = world
    const name = await startOne(world)
    await change(name)
    gate.open()
    await here.flush()
    await there.flush()
    expect(attempts()).toEqual([name, name])
  },
)

test.each(consumers)('$name: two instances attempt each item once', async ({ open }) => {
  await using world = await open()
  const { here, there, add, attempts } = world
  const names = await add(Array(30).fill('one'))
  await Promise.all([here.flush(), there.flush()])
  await Promise.all([here.flush(), there.flush()])
  expect(attempts().toSorted()).toEqual(names.toSorted())
})

test.each(withKeys)(
  '$name: many items with one key do not keep another waiting',
  async ({ open }) => {
    await using world = await open()
    const { here, gate, add, attempts } = world
    gate.close()
    const names = await add([...Array(30).fill('one'), 'other'])
    await until(() => attempts().includes(names.at(-1) ?? ''), 'the other item is not attempted')
    gate.open()
    await here.flush()
    expect(attempts().toSorted()).toEqual(names.toSorted())
  },
)

/** Adds an item and starts its attempt, which waits at the gate. Returns its name. */
async function startOne({ here, gate, add, attempts }: QueueWorld): Promise<string> {
  gate.close()
  const [name = ''] = await add(['one'])
  here.wake()
  await until(() => attempts().length === 1, 'the item is not attempted')
  return name
}
