import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'

test('finds an action by its current and earlier names', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { user } = await app.register('bob@example.com')
  await ann.ask('POST', `people/${user._id}/verify`)
  await runCommand(app, 'user verify', [user._id])
  for (const name of ['users.verify', 'user.verify', 'user verify']) {
    const { entries } = await ann.read(`audit?action=${encodeURIComponent(name)}`)
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      'users.verify',
      'users.verify',
    ])
  }
})

test('an export that would be incomplete is refused', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { db, operators } = app.services
  await runCommand(app, 'settings set', ['hardPaywall=true'])
  const [entry] = (await operators.audit.list({})).entries
  await db.write(async (tx) => {
    for (let at = 0; at < 10_000; at += 500) {
      const rows = Array.from({ length: 500 }, (_, n) => ({ ...entry, id: `copy-${at + n}` }))
      await tx.insert(db.tables.auditEntries).values(rows as never)
    }
  })
  const refused = await ann.ask('GET', 'audit/export')
  expect([refused.status, refused.json.message]).toEqual([422, expect.stringContaining('as CSV')])
})
