import { expect, test } from 'bun:test'
import { createTestApp } from '../../../support/app.ts'
import { deliver, ms, purchase } from '../../../support/billing.ts'

test('the access of a new tester is stored after a restart', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user } = await app.register()
  await deliver(app, purchase(user._id, { environment: 'SANDBOX' }))
  const signal = new AbortController().signal
  const storedStatus = async () => {
    const { db, accessStates } = app.services
    await accessStates.followPlans(signal)
    const rows = await db.read.select().from(db.tables.accessStates)
    return rows.find(({ environment }) => environment === 'production')?.status
  }
  expect(await storedStatus()).not.toBe('paying')
  await app.restart({ sandboxTesters: [user._id] })
  expect(await storedStatus()).toBe('paying')
})
