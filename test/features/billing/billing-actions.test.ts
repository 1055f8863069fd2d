import { expect, test } from 'bun:test'
import { serverClient } from '../../support/api-keys.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { deliver, ms, purchase } from '../../support/billing.ts'
import { runCommand } from '../../support/commands.ts'
import { onSqlite, sqliteClientOf } from '../../support/databases.ts'
import { createWorld } from '../../support/grants.ts'
import { signInOperator } from '../../support/operator.ts'
import { serveProvider } from '../../support/subscriber-api.ts'

onSqlite('the fault is an SQLite trigger')(
  'the command reports a replay that fails again as an error, and the replay is audited',
  async () => {
    await using app = await createTestApp()
    app.expectErrors()
    const client = sqliteClientOf(app)
    client.run(
      "CREATE TRIGGER fault BEFORE INSERT ON subscriptions BEGIN SELECT RAISE(ABORT, 'a fault'); END",
    )
    await deliver(app, purchase('ann', { id: 'E' }))
    await expect(runCommand(app, 'events replay', ['E'])).rejects.toThrow(
      'The event E failed again. "events show E" shows the error.',
    )
    client.run('DROP TRIGGER fault')
    const { outcome, printed } = await runCommand(app, 'events replay', ['E'])
    expect([outcome, printed]).toEqual([{ replayed: 'E' }, 'Processed E again.'])
    const entry = { action: 'events.replay', target: 'E', before: { outcome: 'failed' } }
    expect(await listEntries(app)).toMatchObject([
      { ...entry, after: { outcome: 'applied' } },
      { ...entry, after: { outcome: 'failed' } },
    ])
  },
)

test('audits granting and revoking access in the same way for commands, operators and API keys', async () => {
  await using world = await createWorld()
  const { app, userId, email, operator } = world
  const server = await serverClient(app)
  const json = { entitlementId: 'pro', until: null, reason: 'test' }
  const revoke = { json: { reason: 'mistake' } }
  const path = `people/${userId}/grants`
  const typed = await runCommand(app, 'access grant', [email, 'pro'], {
    forever: true,
    reason: 'test',
  })
  await runCommand(app, 'access revoke', [email, typed.outcome.grant.id], revoke.json)
  const { id } = (await operator.ask('POST', path, { json })).json.response
  await operator.ask('POST', `${path}/${id}/revoke`, revoke)
  const given = await server('POST', `users/v1/${userId}/grants`, { json })
  const byServer = given.json.response.id
  await server('DELETE', `users/v1/${userId}/grants/${byServer}?reason=mistake`)
  const entries = await listEntries(app, 'access.')
  expect(entries.map(({ action, target, after }) => [action, target, after])).toEqual(
    [byServer, id, typed.outcome.grant.id].flatMap((grant) => [
      ['access.revoke', userId, { grant, entitlementId: 'pro' }],
      ['access.grant', userId, { grant, entitlementId: 'pro', endsAt: null }],
    ]),
  )
  const { lines } = await operator.read(`people/${userId}/timeline`)
  const reasons = lines.flatMap(({ events }: { events: { support: { reason: string } }[] }) =>
    events.map(({ support }) => support.reason),
  )
  expect(reasons.filter((reason: string) => reason === 'mistake')).toHaveLength(3)
})

test('only commands accept an e-mail address for the user who is granted access', async () => {
  await using world = await createWorld()
  const { app, email, operator } = world
  const json = { entitlementId: 'pro', until: null, reason: 'test' }
  const server = await serverClient(app)
  const path = encodeURIComponent(email)
  expect((await server('POST', `users/v1/${path}/grants`, { json })).status).toBe(404)
  expect((await operator.ask('POST', `people/${path}/grants`, { json })).status).toBe(404)
  expect(await listEntries(app, 'access.')).toEqual([])
})

test('refreshing the purchases of one user or of all users is audited with counts', async () => {
  using provider = serveProvider(() =>
    Response.json({ request_date_ms: ms(40), subscriber: { entitlements: {}, subscriptions: {} } }),
  )
  await using app = await createTestApp({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  const ann = await signInOperator(app)
  await deliver(app, purchase('bob'))
  app.clock.now = new Date(ms(40))
  const counts = { customers: 1, corrected: 0, failed: 0 }
  const reply = await ann.ask('POST', 'people/bob/reconcile')
  expect(reply.json.response).toMatchObject({ customers: 1, corrected: [], isIncomplete: false })
  await runCommand(app, 'events reconcile', [], { user: 'bob' })
  const { printed } = await runCommand(app, 'users refresh-purchases')
  expect(printed).toBe('Checked 1 customers: 0 purchases corrected, 0 customers failed.')
  const entries = await listEntries(app, 'users.')
  expect(entries.map(({ action, target, after }) => [action, target, after])).toEqual(
    [null, 'bob', 'bob'].map((target) => ['users.refresh-purchases', target, counts]),
  )
})

test('purchases are not refreshed without a key for the provider', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { status, json } = await ann.ask('POST', 'people/bob/reconcile')
  expect([status, json.message]).toEqual([
    503,
    'Set RC_API_KEY to refresh purchases from RevenueCat.',
  ])
  await expect(runCommand(app, 'users refresh-purchases')).rejects.toThrow('Set RC_API_KEY')
})

/** The entries whose action begins with `prefix`, the newest first. */
async function listEntries({ services }: TestApp, prefix = '') {
  const { entries } = await services.operators.audit.list({})
  return entries.filter(({ action }) => action.startsWith(prefix))
}
