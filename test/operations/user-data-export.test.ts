import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD } from '../support/app.ts'
import { PATH, uploadBody } from '../support/attachments.ts'
import { deliver, purchase } from '../support/billing.ts'
import { phonePhoto } from '../support/pictures.ts'

test('the export contains everything that deleting the account removes', async () => {
  await using app = await createTestApp({ BILLING_SANDBOX: 'ignore' })
  const { accessToken: token, user } = await app.register('ann@example.com', { device: 'phone' })
  const { db } = app.services
  const json = { email: 'ann@example.com', password: PASSWORD }
  await app.ask('POST', '/api/auth/login/v1', { json, headers: { device: 'old tablet' } })
  await app.ask('DELETE', '/api/auth/sessions/v1?id=others', { token })
  await app.ask('POST', '/api/auth/email/v1/change', {
    token,
    json: { ...json, email: 'new@example.com' },
  })
  const stored = await uploadBody(app, token, await phonePhoto(), 'image/jpeg', 'publicAsset', {
    'idempotency-key': 'once',
  })
  const url = new URL(stored.json.response[0].url)
  expect((await app.ask('GET', `${url.pathname}?width=64`)).status).toBe(200)
  await db.write(async (tx) => {
    const row = { provider: 'google', subject: 's', userId: user._id, createdAt: app.clock.now }
    await tx.insert(db.tables.identities).values(row)
    const key = { publicKey: 'k', counter: 0, transports: [], rpId: 'localhost', name: 'Phone' }
    await tx
      .insert(db.tables.passkeys)
      .values({ id: 'p', userId: user._id, createdAt: app.clock.now, ...key })
  })
  await deliver(app, { ...purchase('$anonymous'), id: 'E-anonymous' })
  await deliver(app, { ...purchase(user._id, { aliases: ['$anonymous'] }), id: 'E-own' })
  const other = { original_transaction_id: '2', environment: 'SANDBOX' }
  await deliver(app, { ...purchase(user._id, other), id: 'E-sandbox' })

  await app.services.users.notes.add(user._id, 'Asked for a refund.', 'olga')

  const before = await countRows()
  const exported = (await app.ask('GET', '/api/user/export/v1', { token })).json.response
  expect(exported.account).toMatchObject({ hasPassword: true, emailVerifiedAt: null })
  expect(exported.devices.map(({ device }: { device: string }) => device).toSorted()).toEqual([
    'old tablet',
    'phone',
  ])
  expect(exported.pending).toContainEqual({
    purpose: 'change-email',
    email: 'new@example.com',
    expiresAt: expect.any(String),
  })
  expect(exported.billingIds.toSorted()).toEqual(['$anonymous', user._id].toSorted())
  const bodies = exported.billingEvents.map(
    ({ body }: { body: string }) => JSON.parse(body).event.id,
  )
  expect(bodies).toEqual(['E-anonymous', 'E-own', 'E-sandbox'])
  expect(exported.attachments[0].variants).toHaveLength(1)

  await app.ask('DELETE', '/api/user/profile/v1', { token })
  const after = await countRows()
  const removed = Object.fromEntries(
    Object.entries(before).flatMap(([name, count]) => {
      const gone = count - (after[name] ?? 0)
      return gone > 0 ? [[name, gone]] : []
    }),
  )
  expect(removed).toEqual({
    users: [exported.user].length,
    sessions: exported.sessions.length,
    // The refresh tokens of the exported sessions.
    refreshTokens: 1,
    identities: exported.identities.length,
    passkeys: exported.passkeys.length,
    userNotes: exported.notes.length,
    oneTimeTokens: exported.pending.length,
    knownDevices: exported.devices.length,
    // What the exported subscription gives access to.
    accessStates: 1,
    userChanges: exported.changes.length,
    attachments: exported.attachments.length,
    variants: exported.attachments[0].variants.length,
    uploadRetries: exported.idempotencyKeys.length,
  })
  expect((await app.ask('GET', PATH, { token })).status).not.toBe(200)

  async function countRows(): Promise<Record<string, number>> {
    const entries = Object.entries(db.tables).map(
      async ([name, table]) => [name, await db.read.$count(table)] as const,
    )
    return Object.fromEntries(await Promise.all(entries))
  }
})

test('the export includes sandbox purchases', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register()
  await deliver(app, purchase(user._id, { environment: 'SANDBOX' }))
  const exported = (await app.ask('GET', '/api/user/export/v1', { token })).json.response
  expect(exported.subscription.subscriptions).toEqual([])
  expect(exported.sandboxSubscription.subscriptions).toHaveLength(1)
})

test('the export of a transferred purchase reveals nothing about its former owner', async () => {
  await using app = await createTestApp()
  const ann = await app.register('ann@example.com')
  const bob = await app.register('bob@example.com')
  const [annId, bobId] = [ann.user._id, bob.user._id]
  const attributes = { $email: { value: 'private@example.com' }, $ip: { value: '203.0.113.7' } }
  const deliverFor = (userId: string, id: string, at: number, more = {}) =>
    deliver(app, { ...purchase(userId, { id, event_timestamp_ms: at, ...more }) })
  await deliverFor(annId, 'E-ann', 1_783_000_000_000, { subscriber_attributes: attributes })
  const transfer = { transferred_from: [annId], transferred_to: [bobId] }
  const at = { event_timestamp_ms: 1_783_000_001_000 }
  await deliver(app, { event: { id: 'E-transfer', type: 'TRANSFER', ...transfer, ...at } })
  await deliverFor(bobId, 'E-bob', 1_783_000_002_000, {
    subscriber_attributes: { $own: { value: 'bob' } },
  })
  const { text, json } = await app.ask('GET', '/api/user/export/v1', { token: bob.accessToken })
  const ids = json.response.billingEvents.map(
    ({ body }: { body: string }) => JSON.parse(body).event.id,
  )
  expect(ids.toSorted()).toEqual(['E-ann', 'E-bob', 'E-transfer'])
  for (const theirs of [annId, 'private@example.com', '203.0.113.7']) {
    expect(text).not.toContain(theirs)
  }
  expect(text).toContain('$own')
})
