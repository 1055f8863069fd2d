import { expect, test } from 'bun:test'
import { DAY, iso } from '../../support/billing.ts'
import { runCommand } from '../../support/commands.ts'
import { createWorld, give } from '../../support/grants.ts'

test('a repeated idempotency key returns the same grant, and is refused for a different one', async () => {
  await using world = await createWorld()
  const { app } = world
  const until = iso(2)
  const first = await give(world, 'pro', { until, idempotencyKey: '1' })
  await expect(give(world, 'pro', { until: iso(3), idempotencyKey: '1' })).rejects.toMatchObject({
    code: 'validation_failed',
  })
  app.clock.advance(5 * DAY)
  expect(await give(world, 'pro', { until, idempotencyKey: '1' })).toEqual({
    ...first,
    active: false,
  })
})

test('lists the newest grants, whatever their ids', async () => {
  await using world = await createWorld()
  const { app, userId } = world
  for (let day = 0; day < 102; day++) {
    await give(world, `day${day}`, { idempotencyKey: `${day}` })
    app.clock.advance(1_000)
  }
  const listed = (await app.services.grants.list(userId)).map(({ entitlementId }) => entitlementId)
  expect([listed.length, listed[0], listed.at(-1)]).toEqual([100, 'day101', 'day2'])
})

test.each(['03.04.2027', '2027-02-30', 'x 2030', '2027-02-03T25:00Z'])(
  'refuses %p as the end',
  async (until) => {
    await using world = await createWorld()
    const { app, email } = world
    await expect(
      runCommand(app, 'access grant', [email, 'pro'], { until, reason: 'test' }),
    ).rejects.toThrow('such as 2027-04-03')
  },
)
