import { expect } from 'bun:test'
import type { TestApp } from '../support/app.ts'
import { createTestInstances, testInstances, times } from '../support/instances.ts'
import { simulateDelay } from '../support/until.ts'

testInstances('a locked row delays only the changes that need it', async () => {
  await using instances = await createTestInstances()
  const { here, there } = instances
  const { accessToken: token } = await there.register()
  const open = await openChange(here)
  const finished: string[] = []
  const changes = times(40).map(() => publish(there).then(() => finished.push('a locked change')))
  // By now the changes have been tried several times.
  await simulateDelay(1_000)
  for (const n of times(10)) {
    const { status } = await there.ask('PATCH', '/api/user/profile/v1', {
      token,
      json: { profile: { name: `Ann ${n}` } },
    })
    finished.push(`${status}`)
  }
  await open.finish()
  await Promise.all(changes)
  expect(finished).toEqual([
    ...times(10).map(() => '200'),
    ...times(40).map(() => 'a locked change'),
  ])
})

testInstances(
  'a change that an instance leaves open is rolled back, and no longer blocks others',
  async () => {
    await using instances = await createTestInstances()
    const { here, there } = instances
    const open = await openChange(here)
    await publish(there).catch(() => publish(there))
    expect(await open.finish()).toBe('unavailable')
  },
  60_000,
)

/** Changes a row and leaves the change open until `finish`, which returns `done` or the error's code. */
async function openChange({ services: { db } }: TestApp) {
  const opened = Promise.withResolvers<void>()
  const finished = Promise.withResolvers<void>()
  const outcome = db
    .write(async (tx) => {
      await tx.update(db.tables.contentVersions).set({ version: 7 })
      opened.resolve()
      await finished.promise
    })
    .then(
      () => 'done',
      ({ code }) => code,
    )
  await opened.promise
  return {
    finish() {
      finished.resolve()
      return outcome
    },
  }
}

function publish({ services: { db } }: TestApp) {
  return db.write(
    async (tx) => void (await tx.update(db.tables.contentVersions).set({ version: 8 })),
  )
}
