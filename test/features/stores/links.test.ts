import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { DAY, deliver, lifecycle, purchase, T0 } from '../../support/billing.ts'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'
import { reportOf, serveProvider } from '../../support/subscriber-api.ts'

const ANONYMOUS = '$RCAnonymousID:5f0c6d3e'
const REASON = 'sent the receipt'

test('an anonymous purchase from the billing provider is linked, and its renewals stay with the user', async () => {
  await using world = await createWorld()
  const { app, userId, operator, productsOf } = world
  await deliver(app, purchase(ANONYMOUS))
  const json = { user: 'ann@example.com', reason: REASON }
  const linked = await operator.ask('POST', 'purchases/1000/give', { json })
  const link = { by: 'olga', reason: REASON, at: app.clock.now.toISOString() }
  expect(linked.json.response).toMatchObject([{ userId, isClaimed: true, link }])
  await deliver(app, renewal({ id: 'first' }))
  expect(await productsOf()).toEqual(['prod_example_pro'])
  const { lines } = await operator.read(`people/${userId}/timeline`)
  expect(lines).toMatchObject([{ link, isClaimed: true, transactionId: '1000' }])
  expect(lines[0].events.map(summaryOf)).toEqual([
    ['RENEWAL', null, null],
    ['HOMEPORT_PURCHASE_CLAIMED', userId, { by: 'olga', reason: REASON }],
    ['INITIAL_PURCHASE', null, null],
  ])
})

test('undoing a link restores the owner that the events name, even after a rebuild', async () => {
  await using world = await createWorld()
  const { app, userId, operator, productsOf } = world
  const bob = await app.register('bob@example.com')
  await deliver(app, purchase(bob.user._id))
  await app.services.stores.actions.link('1000', userId, { by: 'root', reason: REASON })
  expect(await productsOf()).toHaveLength(1)
  const link = (await operator.read('purchases?id=1000')).purchases[0].link.id
  const json = { reason: 'wrong account', link }
  const undone = await operator.ask('POST', 'purchases/1000/take-back', { json })
  expect(undone.json.response).toMatchObject([{ userId: bob.user._id, link: null }])
  await deliver(app, { ...renewal(), app_user_id: bob.user._id })
  expect(await productsOf()).toEqual([])
  expect(await productsOf(bob.user._id)).toEqual(['prod_example_pro'])
  const [entry] = (await operator.read('audit?action=purchases.unlink')).entries
  expect([entry.before, entry.after]).toEqual([{ userId }, { userId: bob.user._id }])
  const { changed } = await app.services.rebuildBilling(AbortSignal.timeout(5_000))
  expect(changed).toEqual([])
  const again = await operator.ask('POST', 'purchases/1000/take-back', { json })
  expect(again.status).toBe(409)
})

test('two operators who undo a link at the same time undo only one link', async () => {
  await using world = await createWorld()
  const { app, userId, operator, productsOf } = world
  const bob = await app.register('bob@example.com')
  await deliver(app, purchase(ANONYMOUS))
  const by = { by: 'root', reason: REASON }
  await app.services.stores.actions.link('1000', userId, by)
  await app.services.stores.actions.link('1000', bob.user._id, by)
  const link = (await operator.read('purchases?id=1000')).purchases[0].link.id
  const json = { reason: 'Link undone', link }
  const undo = () => operator.ask('POST', 'purchases/1000/take-back', { json })
  const statuses = (await Promise.all([undo(), undo()])).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([200, 409])
  expect(await productsOf()).toEqual(['prod_example_pro'])
})

test('undoing a link of a purchase without an owner leaves it without one', async () => {
  await using world = await createWorld()
  const { app, userId, productsOf } = world
  await deliver(app, purchase(ANONYMOUS))
  const { printed } = await runCommand(app, 'purchases give', ['1000', 'ann@example.com'], {
    reason: REASON,
  })
  expect(printed).toBe(`1000 now belongs to ${userId}.`)
  expect((await runCommand(app, 'purchases take-back', ['1000'])).printed).toBe(
    '1000 now belongs to no user.',
  )
  expect(await productsOf()).toEqual([])
  await runCommand(app, 'purchases give', ['1000', userId], { reason: 'right after all' })
  expect(await productsOf()).toEqual(['prod_example_pro'])
})

test('refuses a link without a reason, and a link of granted access', async () => {
  await using world = await createWorld()
  const { app, userId, operator } = world
  await deliver(app, purchase(ANONYMOUS))
  const without = await operator.ask('POST', 'purchases/1000/give', {
    json: { user: userId, reason: ' ' },
  })
  expect([without.status, without.json.details]).toMatchObject([422, [{ path: 'reason' }]])
  const { id } = await app.services.grants.create({
    userId,
    entitlementId: 'pro',
    until: null,
    by: 'ann',
    reason: 'test',
  })
  const granted = await operator.ask('POST', `purchases/grant:${id}/give`, {
    json: { user: userId, reason: REASON },
  })
  expect(granted.status).toBe(409)
})

test('does not record a purchase again for its former owner after it has moved to another user', async () => {
  using provider = serveProvider(() => Response.json(reportOf(10, 0, 30)))
  await using world = await createWorld({ RC_API_KEY: 'sk_1', RC_API_URL: provider.url })
  const { app, userId, productsOf } = world
  const bob = await app.register('bob@example.com')
  const ids = { transaction_id: '1001', original_transaction_id: '1000' }
  await deliver(app, { ...purchase(userId), ...ids })
  const { stores, reconcile } = app.services
  await stores.actions.link('1000', bob.user._id, { by: 'olga', reason: 'bought' })
  const { corrected } = (await reconcile?.reconcileUser(userId, AbortSignal.timeout(5_000))) ?? {}
  expect(corrected).toEqual([])
  expect(await productsOf()).toEqual([])
})

function renewal(fields = {}) {
  return lifecycle(ANONYMOUS, 'RENEWAL', 30, {
    purchased_day: 30,
    expiration_day: 60,
    transaction_id: '1001',
    ...fields,
  })
}

function summaryOf(event: { type: string; linkedTo: string | null; support: unknown }) {
  return [event.type, event.linkedTo, event.support]
}

async function createWorld(environment: Record<string, string> = {}) {
  const app = await createTestApp(environment)
  app.clock.now = new Date(T0 + DAY)
  const { user } = await app.register('ann@example.com')
  const userId: string = user._id
  const productsOf = async (id = userId) => {
    const { subscription } = await app.services.subscription.read(id, 'production', [])
    return subscription.subscriptions.map(({ productId }) => productId)
  }
  return {
    app,
    userId,
    operator: await signInOperator(app, { name: 'olga', role: 'operator' }),
    productsOf,
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  }
}
