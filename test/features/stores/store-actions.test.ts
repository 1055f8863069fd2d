import { expect, test } from 'bun:test'
import type { TestApp } from '../../support/app.ts'
import { createWorld, createWorldWithApi, deliver } from '../../support/app-store/world.ts'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'

test('audits linking and unlinking a purchase in the same way for commands and operators', async () => {
  await using world = await createWorld()
  const { app, store, userId } = world
  const ann = await signInOperator(app)
  const bought = store.buy({ userId })
  await deliver(app, bought.notification)
  const { originalTransactionId: id } = bought
  const bob = (await app.register('bob@example.com')).user
  const json = { user: bob.email, reason: 'bought' }
  const [linked] = (await ann.ask('POST', `purchases/${id}/give`, { json })).json.response
  expect(linked).toMatchObject({ owner: { email: bob.email }, link: { by: 'ann' } })
  const undo = { json: { reason: 'mistake', link: linked.link.id } }
  const undone = await ann.ask('POST', `purchases/${id}/take-back`, undo)
  expect(undone.json.response).toMatchObject([{ userId, owner: { email: world.email } }])
  await runCommand(app, 'purchases link', [id, bob.email], { reason: 'bought' })
  await runCommand(app, 'purchases unlink', [id])
  const link = ['purchases.link', id, { userId }, { userId: bob._id }]
  const unlink = ['purchases.unlink', id, { userId: bob._id }, { userId }]
  expect(await listChanges(app)).toEqual([link, unlink, link, unlink])
})

test('the console must name the link that it undoes', async () => {
  await using world = await createWorld()
  const { app, store } = world
  const ann = await signInOperator(app)
  const { notification, originalTransactionId: id } = store.buy({ userId: world.userId })
  await deliver(app, notification)
  const bob = (await app.register('bob@example.com')).user
  await runCommand(app, 'purchases link', [id, bob._id])
  const unnamed = await ann.ask('POST', `purchases/${id}/take-back`, { json: { reason: 'wrong' } })
  expect([unnamed.status, unnamed.json.details]).toMatchObject([422, [{ path: 'link' }]])
  expect((await ann.read(`purchases?id=${id}`)).purchases).toMatchObject([{ userId: bob._id }])
})

test('audits refreshing a purchase with its statuses, for every kind of caller', async () => {
  await using world = await createWorldWithApi()
  const { app, store } = world
  const ann = await signInOperator(app)
  const { originalTransactionId: id, refund } = store.buy()
  const asked = await ann.ask('POST', `purchases/${id}/ask`)
  expect(asked.json.response).toMatchObject([{ status: 'active', plan: null, owner: null }])
  refund()
  const { outcome } = await runCommand(app, 'purchases refresh', [id])
  expect(outcome[0].status).toBe('refunded')
  expect(outcome[0]).not.toHaveProperty('owner')
  expect(await listChanges(app)).toEqual([
    ['purchases.refresh', id, null, { statuses: ['active'] }],
    ['purchases.refresh', id, null, { statuses: ['refunded'] }],
  ])
})

test('audits an answer to a refund request as sent to Apple', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api } = world
  const { notification, originalTransactionId: id } = store.buy({ userId: world.userId })
  await deliver(app, notification)
  const options = { consented: true, undelivered: true, prefer: 'grant-prorated' }
  await runCommand(app, 'purchases answer-refund', [id], options)
  const body = {
    customerConsented: true,
    deliveryStatus: 'UNDELIVERED_OTHER',
    sampleContentProvided: false,
    refundPreference: 'GRANT_PRORATED',
  }
  expect(api.consumptions).toEqual([{ transactionId: id, body }])
  expect(await listChanges(app)).toEqual([['purchases.answer-refund', id, null, body]])
  const wrong = { ...options, prefer: 'refuse' }
  await expect(runCommand(app, 'purchases answer-refund', [id], wrong)).rejects.toThrow('--prefer')
})

test('audits a connection test in the same way, and a catch-up with its numbers', async () => {
  await using world = await createWorldWithApi()
  const { app } = world
  const ann = await signInOperator(app)
  await ann.ask('POST', 'stores/test', { json: { environment: 'sandbox' } })
  await runCommand(app, 'stores test', [], { sandbox: true })
  await runCommand(app, 'stores catch-up', [], { since: '2026-09-30', sandbox: true })
  const tested = ['stores.test', null, null, { environment: 'SANDBOX' }]
  const caughtUp = { read: 0, added: 0, refused: 0, refunds: null, queued: null }
  expect(await listChanges(app)).toEqual([
    tested,
    tested,
    ['stores.catch-up', null, null, caughtUp],
  ])
})

/** The audit entries about purchases and stores, the oldest first. */
async function listChanges({ services }: TestApp) {
  const { entries } = await services.operators.audit.list({ sort: 'at' })
  return entries
    .filter(({ action }) => /^(purchases|stores)\./.test(action))
    .map(({ action, target, before, after }) => [action, target, before, after])
}
