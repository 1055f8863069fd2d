import { describe, expect, test } from 'bun:test'
import type { UserProfile } from '../../../src/client/client.ts'
import { PASSWORD } from '../../support/app.ts'
import type { World } from '../../support/backends.ts'
import { clientOf } from '../../support/network.ts'
import { SCRIPTED_BACKENDS } from '../../support/scripted-backends.ts'

const LOGIN = { email: 'ann@example.com', password: PASSWORD }
const PLAIN = { env: 'test' }

describe.each(SCRIPTED_BACKENDS)('$name:', ({ open }) => {
  test('usage follows the plan, and starts over in the next month', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    const { user } = await client.register(LOGIN)
    const credits = async () =>
      (await client.readUsage()).find(({ name }) => name === 'aiMonthlyCreditLimit')
    expect(await credits()).toMatchObject({ period: 'month', used: 0, limit: 5, remaining: 5 })
    await app.setPurchase(user, 'active', app.clock.now.getTime() + 29 * 86_400_000)
    await use(app, user, 'aiMonthlyCreditLimit', 40)
    expect(await credits()).toMatchObject({ used: 40, limit: 100, remaining: 60 })
    const { resetsAt } = (await credits()) ?? {}
    app.clock.advance(Date.parse(resetsAt ?? '') - app.clock.now.getTime())
    expect((await credits())?.used).toBe(0)
    const names = (await client.readUsage()).map(({ name, period }) => `${name} ${period}`)
    expect(names).toContain('seatLimit total')
  })
})

async function use({ services, server }: World, user: UserProfile, limit: string, amount: number) {
  await services?.usage.consume({ userId: user._id, limit, amount })
  server?.setUsage(user, { [limit]: amount })
}
