import { expect, test } from 'bun:test'
import { createKey } from '../../support/api-keys.ts'
import type { TestApp } from '../../support/app.ts'
import { DAY, deliver, iso, purchase } from '../../support/billing.ts'
import { runCommand } from '../../support/commands.ts'
import { createWorld, give, PLANS } from '../../support/grants.ts'
import { publishPlans } from '../../support/plans.ts'

test('granted access takes effect immediately, says who granted it and why, and ends on time', async () => {
  await using world = await createWorld()
  const { app, userId, operator, read, sentence } = world
  const reply = await operator.ask('POST', `people/${userId}/grants`, {
    json: { entitlementId: 'pro', until: iso(10), reason: ' beta tester ' },
  })
  expect(reply.json.response).toMatchObject({
    entitlementId: 'pro',
    active: true,
    endsAt: iso(10),
    grantedBy: 'olga',
    reason: 'beta tester',
  })
  const { subscriptions, entitlements, plan } = await read()
  expect(entitlements).toMatchObject([{ id: 'pro', active: true, expiresAt: iso(10) }])
  expect(subscriptions).toEqual([
    {
      productId: 'grant_pro',
      store: 'PROMOTIONAL',
      status: 'active',
      periodType: 'PROMOTIONAL',
      purchasedAt: iso(1),
      expiresAt: iso(10),
      effectiveEndAt: iso(10),
      willRenew: false,
    },
  ])
  expect(plan.code).toBe('pro')
  expect(await sentence()).toBe(
    'Free. Granted by olga until 11 October 2026, 00:00 UTC: beta tester.',
  )
  const { lines } = await operator.read(`people/${userId}/timeline`)
  expect(lines).toMatchObject([
    {
      source: 'granted',
      grant: { by: 'olga', reason: 'beta tester' },
      events: [{ type: 'HOMEPORT_ACCESS_GRANTED', support: { by: 'olga', reason: 'beta tester' } }],
    },
  ])
  const [entry] = (await operator.read('audit?action=access.grant')).entries
  expect(entry).toMatchObject({ operator: 'olga', target: userId })
  app.clock.advance(9 * DAY)
  expect((await world.readLater()).plan?.code).toBe('free')
  expect(await sentence()).toBe(
    'Free. Granted by olga (beta tester); ended on 11 October 2026, 00:00 UTC.',
  )
})

test('revoking access ends it immediately, is announced, and survives a rebuild', async () => {
  await using world = await createWorld()
  const { app, userId, operator, read, sentence } = world
  const { id } = await give(world, 'pro')
  expect(await accessOf(world)).toMatchObject({ active: true, plan: 'pro', store: 'PROMOTIONAL' })
  expect(await sentence()).toContain('Granted by ann without an end: test')
  const path = `people/${userId}/grants/${id}/revoke`
  const revoked = await operator.ask('POST', path, { json: { reason: 'mistake' } })
  expect(revoked.json.response).toMatchObject({ active: false, revokedBy: 'olga' })
  expect((await read()).plan.code).toBe('free')
  expect(await accessOf(world)).toMatchObject({ active: false, plan: 'free' })
  expect(await sentence()).toMatch(/Granted by ann \(test\); revoked by olga on/)
  const again = await operator.ask('POST', path, { json: { reason: 'mistake' } })
  expect(again.json.response).toEqual(revoked.json.response)
  const { changed, events } = await app.services.rebuildBilling(AbortSignal.timeout(5_000))
  expect([changed, events]).toEqual([[], 2])
})

test.each([
  ['basic', 'team', 'team'],
  ['team', 'basic', 'team'],
  ['pro', 'team_access', 'team'],
  ['pro_year', 'team', 'team'],
  ['pro_year', 'basic', 'pro_year'],
  ['team', 'unknown', 'team'],
])('a purchase of %s and a grant of %s give the plan %s', async (productId, entitlement, plan) => {
  await using world = await createWorld()
  const { app, userId, read } = world
  const fields = { product_id: productId, entitlement_ids: [productId] }
  await deliver(app, purchase(userId, fields))
  await give(world, entitlement)
  expect((await read()).plan.code).toBe(plan)
  const ids = (await read()).entitlements.filter(({ active }: { active: boolean }) => active)
  expect(ids).toHaveLength(2)
})

test('a grant without a plan does not replace a plan whose price only the store knows', async () => {
  await using world = await createWorld()
  await publishPlans(
    world.app,
    PLANS.map((plan) => ({ ...plan, price: 0 })),
  )
  await deliver(
    world.app,
    purchase(world.userId, { product_id: 'team', entitlement_ids: ['team'] }),
  )
  await give(world, 'unknown')
  expect((await world.read()).plan.code).toBe('team')
})

test('a grant of an entitlement gives the smallest plan with it', async () => {
  await using world = await createWorld()
  await publishPlans(world.app, PLANS.toReversed())
  await give(world, 'pro')
  expect((await world.read()).plan.code).toBe('pro')
})

test('says when no plan includes the granted entitlement', async () => {
  await using world = await createWorld()
  await give(world, 'unknown')
  expect(await world.sentence()).toBe(
    'unknown. Granted by ann without an end: test. No plan on sale includes this entitlement.',
  )
})

test('says that a purchase continues alongside granted access to a better plan', async () => {
  await using world = await createWorld()
  const fields = { product_id: 'basic', entitlement_ids: [] }
  await deliver(world.app, purchase(world.userId, fields))
  await give(world, 'team')
  expect(await world.sentence()).toContain('Also has basic from the App Store: Renews on ')
})

test('a transfer by the billing provider does not move granted access', async () => {
  await using world = await createWorld()
  const { app, userId, read } = world
  const bob = await app.register('bob@example.com')
  await deliver(app, purchase(userId))
  await give(world, 'team')
  await deliver(app, {
    type: 'TRANSFER',
    at: 2,
    transferred_from: [userId],
    transferred_to: [bob.user._id],
  })
  expect((await read()).subscriptions).toMatchObject([{ productId: 'grant_team' }])
})

test('the export includes granted access with its reason, and deletion removes the reason', async () => {
  await using world = await createWorld()
  const { app, userId } = world
  await give(world, 'pro', { reason: 'wrote a kind letter' })
  const exported = await app.services.exportData(userId)
  expect(JSON.stringify(exported['billingEvents'])).toContain('wrote a kind letter')
  expect(exported['subscription']).toMatchObject({ subscriptions: [{ store: 'PROMOTIONAL' }] })
  const { db, backlog, deleteAccount } = app.services
  await deleteAccount(userId)
  await backlog.flush()
  const { billingEvents, subscriptions } = db.tables
  const events = await db.read.select().from(billingEvents)
  const states = await db.read.select().from(subscriptions)
  const stored = events.map(({ body }) => body.toString()).join() + JSON.stringify(states)
  expect(stored).toContain('grant_pro')
  expect(stored).not.toContain('kind letter')
  expect(stored).not.toContain(userId)
})

test.each([
  [{ reason: '  ' }, 'reason'],
  [{ reason: 'x'.repeat(501) }, 'reason'],
  [{ entitlementId: 'a b' }, 'entitlementId'],
  [{ until: iso(0) }, 'until'],
  [{ until: '2027-02-30T00:00:00Z' }, 'until'],
])('refuses %j', async (fields, path) => {
  await using world = await createWorld()
  await expect(give(world, 'pro', fields)).rejects.toMatchObject({ details: [{ path }] })
  expect(await world.app.services.eventSearch.countStored()).toMatchObject({ events: 0 })
})

test('refuses an unknown user, and one whose purchases belong to another user', async () => {
  await using world = await createWorld()
  const { app, userId } = world
  await expect(give(world, 'pro', { userId: 'nobody' })).rejects.toThrow('no user nobody')
  const bob = await app.register('bob@example.com')
  await deliver(app, purchase(bob.user._id, { aliases: [userId] }))
  await expect(give(world, 'pro')).rejects.toThrow(`belong to the user ${bob.user._id}`)
})

test('revoking does not move the customer’s purchases away from another user', async () => {
  await using world = await createWorld()
  const { app, userId } = world
  const { grants, subscription } = app.services
  const { id } = await give(world, 'pro')
  const bob = await app.register('bob@example.com')
  const bobId = bob.user._id
  app.clock.advance(1_000)
  const at = app.clock.now.getTime()
  await deliver(app, purchase(bobId, { aliases: [userId], event_timestamp_ms: at }))
  const holderOf = async () => (await subscription.findCustomer(bobId))?.heldBy
  expect(await holderOf()).toBeNull()
  app.clock.advance(1_000)
  const revoked = await grants.revoke(userId, id, { by: 'ann', reason: 'test' })
  expect(revoked.active).toBe(false)
  expect(await holderOf()).toBeNull()
})

test('commands grant, list and revoke access', async () => {
  await using world = await createWorld()
  const { app, email, read } = world
  const reason = 'beta tester'
  const type = (name: string, args: string[], options = {}) => runCommand(app, name, args, options)
  await expect(type('access grant', [email, 'pro'], { reason })).rejects.toThrow('one of --until')
  await expect(type('access grant', [email, 'pro'], { forever: true })).rejects.toThrow('--reason')
  const { printed } = await type('access grant', [email, 'pro'], { until: iso(400), reason })
  expect(printed).toContain('Free. Granted by root until')
  const [id = ''] = printed.split('\n')
  expect((await type('access list', [email])).printed).toBe(
    [id, 'pro', 'active', iso(400), 'root', reason].join('\t'),
  )
  const throughDay = await type('access grant', [email, 'gold'], { until: '2099-12-31', reason })
  expect(throughDay.printed).toContain('until 1 January 2100, 00:00 UTC')
  await type('access revoke', [email, id], { reason: 'mistake' })
  expect((await read()).plan.code).toBe('free')
})

test('a server grants access once per idempotency key, and revokes it', async () => {
  await using world = await createWorld()
  const { app, userId, read } = world
  const { secret: token, name } = await createKey(app, { scopes: ['subscriptions:write'] })
  const path = `/api/server/users/v1/${userId}/grants`
  const json = {
    entitlementId: 'team',
    until: null,
    reason: 'bought on paper',
    idempotencyKey: '1',
  }
  const first = await app.ask('POST', path, { token, json })
  expect(first.json.response).toMatchObject({ active: true, grantedBy: `API key ${name}` })
  expect((await app.ask('POST', path, { token, json })).json).toEqual(first.json)
  const other = await app.ask('POST', path, { token, json: { ...json, entitlementId: 'pro' } })
  expect([other.status, (await read()).subscriptions.length]).toEqual([422, 1])
  const { id } = first.json.response
  const revoked = await app.ask('DELETE', `${path}/${id}`, { token })
  expect(revoked.json.response).toMatchObject({ active: false, revokedBy: `API key ${name}` })
  expect((await app.ask('DELETE', `${path}/unknown`, { token })).status).toBe(404)
  expect((await read()).entitlements).toMatchObject([{ id: 'team', active: false }])
})

/** The access that was announced last. */
async function accessOf({ app, userId }: { app: TestApp; userId: string }) {
  const { db } = app.services
  const rows = await db.read.select().from(db.tables.accessStates)
  return rows.find((row) => row.userId === userId)?.state
}
