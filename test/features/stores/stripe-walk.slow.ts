import { beforeAll, expect } from 'bun:test'
import { onSqlite } from '../../support/databases.ts'
import { buildExecutable } from '../../support/executable.ts'
import { readWalk, runWalk } from '../../support/walk.ts'

const READ = /"subscriptions":\[\{[^}]*"status":"(\w+)"[^}]*"willRenew":(\w+)/g

beforeAll(buildExecutable, 300_000)

onSqlite('it starts a server in an empty folder')(
  'the commands in the documentation lead from an empty folder through a payment to a cancellation',
  async () => {
    const { text, exitCode } = await runWalk(await readWalk('web-checkout.md'), {
      storePort: ['STRIPE_PORT', 4922],
      settingsFile: 'stripe.env',
    })
    const read = [...text.matchAll(READ)].map(([, status, willRenew]) => [status, willRenew])
    expect(read).toEqual([
      ['trialing', 'true'],
      ['trialing', 'false'],
    ])
    expect(text).toMatch(/"entitlements":\[\{"id":"pro","active":true/)
    expect(text).toMatch(/si_\w+\tproduction\tprod_\w+\ttrialing\t/)
    expect(text).toContain('STRIPE_API_URL is set')
    expect(exitCode).toBe(0)
  },
  60_000,
)
